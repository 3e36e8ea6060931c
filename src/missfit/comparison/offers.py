"""Which predictors there are for a task, which is the default, and which are quick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from missfit.comparison.candidates import (
    CANDIDATES,
    DEFAULT,
    QUICK,
    Candidate,
    named,
)
from missfit.comparison.class_candidates import (
    CLASS_CANDIDATES,
    CLASS_DEFAULT,
    CLASS_QUICK,
)


class Offer(NamedTuple):
    """The predictors of a task.

    Attributes
    ----------
    candidates : list of Candidate
    default : str
        The name of the one that is fitted where none is named.
    quick : tuple of str
        The names of those that a comparison in a hurry tries.
    what : str
        What they predict, in a word.
    gives_shares : bool
        Whether they give probabilities.
    """

    candidates: list[Candidate]
    default: str
    quick: tuple[str, ...]
    what: str
    gives_shares: bool = False

    def candidate(self, name: str) -> Candidate:
        """Return the candidate of this name.

        >>> CLASSES.candidate("EMProbit").make(0)
        EMProbit()
        """
        self.refuse_others([name])
        return named(name, self.candidates)

    def refuse_others(self, names: Sequence[str]) -> None:
        """Raise where a name is one of a predictor for the other task."""
        mine = [one.name for one in self.candidates]
        for name in names:
            if name in ALL_NAMES and name not in mine:
                raise ValueError(
                    f"{name!r} does not predict {self.what}, and the target of this "
                    f"table is one of them; choose among "
                    f"{', '.join(map(repr, mine))}."
                )


NUMBERS = Offer(CANDIDATES, DEFAULT, QUICK, "numbers")
CLASSES = Offer(CLASS_CANDIDATES, CLASS_DEFAULT, CLASS_QUICK, "classes", True)
ALL_NAMES = tuple(
    dict.fromkeys(one.name for one in (*NUMBERS.candidates, *CLASSES.candidates))
)
DEFAULTS = (NUMBERS.default, CLASSES.default)


def offer_of(classes: Sequence | None) -> Offer:
    """Return the predictors for a target with these classes, None for numbers."""
    return NUMBERS if classes is None else CLASSES
