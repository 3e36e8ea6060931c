"""Networks in JAX, trained many at once. Importing this needs no jax; fitting does."""

from missfit.networks.batch import fit_many
from missfit.networks.mlp import MLP
from missfit.networks.mlp_classifier import MLPClassifier
from missfit.networks.neumiss import NeuMiss
from missfit.networks.neumiss_classifier import NeuMissClassifier

__all__ = ["MLP", "MLPClassifier", "NeuMiss", "NeuMissClassifier", "fit_many"]
