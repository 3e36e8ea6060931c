"""How long candidates will take: by their kind, by a small part, by finished folds."""

from __future__ import annotations

from missfit.comparison.candidates import Candidate
from missfit.comparison.fold_fits import FoldFits
from missfit.comparison.results import Trial

# The time of a fit grows like n^GROWTH: from 250 to 4,000 rows of 30 columns the powers
# of ten candidates were 0.2 to 0.7, from 60 to 240 rows of 200 columns 0.4 to 1.3.
GROWTH = 0.75
STEP = 4  # the second part is so many times as large
# The costs of the candidates are those of tables of 30 columns. On wider ones some grow
# with the cube of the columns, others hardly: they are no guide there.
MOST_COLUMNS = 50
# The seconds of a cheaper trial are those of its call, which tell nothing of a fit: the
# majority class takes .02 s on a busy machine, 200 times its cost in seconds of EMLR.
LEAST_COST = 0.1
LONG = 10.0  # seconds of all folds from which a guess is not enough: a part is fitted
# The small part of a small table takes half the time of a fold: 60 of 240 rows and 200
# columns took 0.5 of 1.0 s (EMLR), 7 of 16 s (MICELR), and EMLR may take 768 steps on
# 60 rows and 21 on 240. A fold tells the time as well, if it does not take longer than
# this by a guess.
TRY = 60.0


class Costs:
    """Predicts the seconds of a fit of each candidate to the training rows of a fold.

    Parameters
    ----------
    fold_fits : FoldFits
    """

    def __init__(self, fold_fits: FoldFits):
        self.fold_fits = fold_fits
        self.n_training = fold_fits.whole.n_training
        self.n_small = max(60, min(250, self.n_training // STEP))
        self.is_wide = fold_fits.whole.X.shape[1] > MOST_COLUMNS
        self._pace, self._dearest = 0.0, 0.0

    def learn(self, trial: Trial) -> None:
        """Learn how fast this machine fits this table from a trial that was run."""
        if len(trial.seconds) and trial.candidate.cost >= LEAST_COST:
            pace = float(trial.seconds.mean()) / trial.candidate.cost
            self._pace = max(self._pace, pace)
            self._dearest = max(self._dearest, trial.candidate.cost)

    def guess(self, one: Candidate) -> float:
        """Return the seconds of a fit by the kind of the candidate; 0 at first."""
        return one.cost * self._pace

    def of(self, one: Candidate, enough: float) -> float:
        """Return the seconds of a fit: a guess, or measured where it may be long."""
        seconds = self.guess(one)
        if self._is_known and self.folds(one, seconds) < min(LONG, enough):
            return seconds
        if self.is_tried(seconds):
            return seconds
        return self._measured(one, enough)

    def is_tried(self, seconds: float) -> bool:
        """Return whether a fold measures the time of a fit of so many seconds.

        A fold of a small table takes little longer than a small part of it.
        """
        return self.n_training <= STEP * self.n_small and seconds < TRY

    @property
    def _is_known(self) -> bool:
        """Return whether a guess can be trusted.

        On a wide table it takes a trial that is as costly as one of EMLR.
        """
        return self._dearest >= (1.0 if self.is_wide else 0.0)

    def _measured(self, one: Candidate, enough: float) -> float:
        """Return the seconds of a fit, predicted from a small part of the rows.

        Parameters
        ----------
        one : Candidate
        enough : float
            If a fit seems to take longer than these seconds, a second part four times
            as large tells how the time grows, unless it takes so long itself: much of
            the time may not depend on the rows.
        """
        small = self.fold_fits.small(one, self.n_small).seconds
        first = self._grown(small, self.n_small)
        larger = self.n_small * STEP
        is_dear = small * STEP**GROWTH > enough
        if first <= enough or is_dear or larger > self.n_training / 2:
            return first
        seconds = self.fold_fits.small(one, larger).seconds
        return min(first, self._grown(seconds, larger))

    def _grown(self, seconds: float, n_rows: int) -> float:
        """Return the seconds of a fit to all training rows, by that to some of them."""
        return seconds * (self.n_training / n_rows) ** GROWTH

    def folds(self, one: Candidate, seconds: float, n_done: int = 0) -> float:
        """Return the time of the folds that are not done, each of so many seconds.

        Folds run side by side, except those that are trained as one batch.
        """
        n_folds = self.fold_fits.whole.n_folds - n_done
        if one.fit_many is not None:
            return n_folds * seconds
        return -(-n_folds // self.fold_fits.n_jobs) * seconds
