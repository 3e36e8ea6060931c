"""What a person would ask about a table before trusting any score on it."""

from missfit.suspicions.find import find_suspicions
from missfit.suspicions.suspicion import Remedy, Suspicion

__all__ = ["Remedy", "Suspicion", "find_suspicions"]
