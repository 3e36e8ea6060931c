"""Whether values are missing because of what they are: the one rule for it."""

from __future__ import annotations

from typing import NamedTuple

from missfit.evidence.mechanism import Mechanism

BEATEN = 3.0  # paired standard errors by which another linear model must be better
UNTRIED = "no model of self-masking was tried"


class SelfMaskingTrial(NamedTuple):
    """How well a model of self-masking predicts rows that it has not seen.

    Attributes
    ----------
    reference : str
        The model that assumes values missing at random.
    gain, standard_error : float
        How much better the score is than that of the reference, and its paired
        standard error. Of R2 the gain is the mean squared error of the reference minus
        that of the model of self-masking, divided by the variance of y.
    beaten_by : str
        Another linear model that is better by `BEATEN` standard errors, or "".
    has_slopes : bool or None
        Whether a masking curve of the model has a significant slope; None where the
        curves are not at hand.
    score : str
        The name of the score.
    """

    reference: str
    gain: float
    standard_error: float
    beaten_by: str = ""
    has_slopes: bool | None = None
    score: str = "R2"

    @property
    def wins(self) -> bool:
        """Whether the gain is above zero and above one standard error."""
        return self.gain > max(0.0, self.standard_error)


def with_self_masking(
    found: Mechanism, trial: SelfMaskingTrial | None, untested: str = UNTRIED
) -> Mechanism:
    """Return the mechanism with the verdict on self-masking.

    It is *possible* where

    1. `missfit.evidence.mechanism.residual_test` finds that y differs, where some
       feature is missing, beyond what the others explain. Without that there is no sign
       of self-masking in y, and on values missing completely at random this condition
       alone holds the level;
    2. the model of self-masking predicts held-out rows better than the reference, which
       takes values as missing at random, by one standard error.

    The answer is *yes* where, moreover,

    3. the masking curves of the model have significant slopes, if they are known;
    4. no other linear model is better than it by three standard errors.

    Unless the features are Gaussian, rows cannot tell a value that hides itself from a
    value that is hidden by something else on which y depends. So *possible* means that
    one of the two is the case, and *yes* that the Gaussian model of self-masking fits
    best. Where there was no trial, `untested` says why.
    """
    if trial is None:
        why = f"not tested, since {untested}"
        return found._replace(self_masking=None, self_possible=False, self_evidence=why)
    possible = bool(found.residual) and trial.wins
    claimed = possible and trial.has_slopes is not False and not trial.beaten_by
    verdict = "yes" if claimed else "possible" if possible else "no sign that holds"
    return found._replace(
        self_masking=claimed,
        self_possible=possible,
        self_evidence=f"{verdict} ({_reasons(found, trial)})",
    )


def _reasons(found: Mechanism, trial: SelfMaskingTrial) -> str:
    words = [
        f"modelling it gains {trial.gain:+.4f} +- {trial.standard_error:.4f} in "
        f"{trial.score} over {trial.reference} on held-out rows"
    ]
    if trial.wins and not found.residual:
        words.append("but the errors of predictions do not tell what is missing")
    if trial.has_slopes is False:
        words.append("no masking curve has a significant slope")
    if trial.wins and trial.beaten_by:
        words.append(f"{trial.beaten_by} predicts better still")
    return ", ".join(words)
