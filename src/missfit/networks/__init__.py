"""Networks in JAX, trained many at once. Importing this needs no jax; fitting does."""

from missfit.networks.batch import fit_many
from missfit.networks.mlp import MLP
from missfit.networks.neumiss import NeuMiss

__all__ = ["MLP", "NeuMiss", "fit_many"]
