"""Simulators: laws whose Bayes predictor is known, the paper's data, holes."""

from missfit.simulate.ampute import ampute
from missfit.simulate.pattern_mixture import GaussianPatternMixture
from missfit.simulate.published import published, published_data, published_sizes
from missfit.simulate.selection import MARGaussian, MCARGaussian
from missfit.simulate.self_masked import SelfMaskedGaussian, SelfMaskedProbit

__all__ = [
    "GaussianPatternMixture",
    "MARGaussian",
    "MCARGaussian",
    "SelfMaskedGaussian",
    "SelfMaskedProbit",
    "ampute",
    "published",
    "published_data",
    "published_sizes",
]
