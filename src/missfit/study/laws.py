"""Data sets that are drawn from a law: one of `missfit.simulate`, or a user's own."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit import simulate
from missfit.bayes import expected_target
from missfit.study.data import DataSet
from missfit.study.imported import StudyError, check_call, class_with, imported

ROOM = "missfit.simulate"
EXAMPLE = f"{ROOM}.MCARGaussian"


@dataclass(frozen=True)
class LawDataSet(DataSet):
    """Rows that are drawn from a law, others in each repetition.

    Attributes
    ----------
    law : str
        The import path of a class with ``sample(n, random_state)``, or of a method that
        makes one, such as ``MARGaussian.with_rate``; a name without a module is one of
        `missfit.simulate`.
    parameters : str
        Keyword arguments, as JSON with sorted keys.
    """

    law: str
    parameters: str = "{}"

    kind = "law"

    def build(self) -> Any:
        """Return the law."""
        maker = law_maker(self.law)
        return maker(**self.arguments(maker))

    def arguments(self, maker: Callable[..., Any]) -> dict[str, Any]:
        """Return the parameters, with ``d`` for a law that takes it."""
        given = json.loads(self.parameters)
        try:
            takes_d = "d" in inspect.signature(maker).parameters
        except ValueError:  # a compiled class may have no signature
            takes_d = False
        return {"d": self.d, **given} if takes_d else given

    def check(self) -> None:
        """Raise where the law could not be built, without calling it."""
        super().check()
        maker = law_maker(self.law)
        check_call(f"law {self.law!r}", maker, self.arguments(maker))

    def table(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return X, NaN where missing, and y."""
        name = f"{self.law} {self.parameters} {self.d} {self.rows} {self.repetition}"
        seed = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) % 2**31
        X, y = self.build().sample(self.rows, random_state=seed)
        X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        if X.shape != (self.rows, self.d) or y.shape != (self.rows,):
            raise StudyError(
                f"law {self.law!r} drew X of shape {X.shape} and y of shape {y.shape}; "
                f"{self.rows} rows and d = {self.d} were asked for."
            )
        return X, y

    def bayes(self, X: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return what the Bayes predictor predicts; None where it is not known."""
        try:
            return expected_target(self.build(), X)
        except TypeError:  # a law of the user's own without a Bayes predictor
            return None

    def identity(self) -> dict[str, Any]:
        """Return what the rows depend on: the law, not the name that it is shown by."""
        content = super().identity()
        return {k: v for k, v in content.items() if k != "setting"}


def law_maker(path: str) -> Callable[..., Any]:
    """Return the class, or the method of a class, that makes a law; it is not called.

    >>> law_maker("MCARGaussian").__name__, law_maker("MARGaussian.with_rate").__name__
    ('MCARGaussian', 'with_rate')
    """
    first = path.split(".")[0]
    whole = f"{ROOM}.{path}" if hasattr(simulate, first) else path
    found = imported(whole, "law", EXAMPLE)
    owner = getattr(found, "__self__", None)
    if inspect.ismethod(found) and isinstance(owner, type) and hasattr(owner, "sample"):
        return found
    return class_with(whole, ("sample",), "law", EXAMPLE)
