"""Simulators: laws whose Bayes predictor is known, the paper's data, holes."""

from missfit.simulate.ampute import ampute
from missfit.simulate.laws import (
    GaussianPatternMixture,
    MARGaussian,
    MCARGaussian,
    SelfMaskedGaussian,
    SelfMaskedProbit,
)
from missfit.simulate.published import published, published_data, published_sizes

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
