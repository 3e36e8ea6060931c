"""Simulators: laws with a known Bayes predictor, the paper's data, and amputation."""

from missfit.simulate.ampute import ampute
from missfit.simulate.pattern_mixture import GaussianPatternMixture
from missfit.simulate.probit import Probit
from missfit.simulate.published import published, published_data, published_sizes
from missfit.simulate.selection import MARGaussian, MCARGaussian
from missfit.simulate.self_masked import SelfMaskedGaussian, SelfMaskedProbit

__all__ = [
    "GaussianPatternMixture",
    "MARGaussian",
    "MCARGaussian",
    "Probit",
    "SelfMaskedGaussian",
    "SelfMaskedProbit",
    "ampute",
    "published",
    "published_data",
    "published_sizes",
]
