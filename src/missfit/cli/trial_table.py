"""The table that ``missfit compare`` prints, line by line as predictors are tried."""

from __future__ import annotations

from collections.abc import Sequence

from missfit.cli.suspicions import show_notes, show_suspicions
from missfit.comparison import Comparison, Trial
from missfit.comparison.candidates import Candidate
from missfit.comparison.task import ScoreColumn
from missfit.terminal import Status, note, note_lines, tell


class TrialTable:
    """Prints each trial when it ends and, on a terminal, what is running.

    Parameters
    ----------
    status : Status
    """

    def __init__(self, status: Status):
        self.status = status
        self.queue: list[Candidate] = []
        self.scores: list[ScoreColumn] = []
        self.n_done = 0

    def head(self, comparison: Comparison, queue: Sequence[Candidate]) -> None:
        """Print how the table was read, and the head of the results."""
        self.status.clear()
        self.queue = list(queue)
        encoder = comparison.encoder
        note_lines((encoder.reading or encoder.reading_).table())
        show_notes(comparison.notes)
        show_suspicions(comparison.suspicions)
        self.scores = [one for one in comparison.task.columns if one.title != "MAE"]
        width = max(len(one.name) for one in queue)
        titles = [one.title for one in self.scores]
        columns = "".join(f"  {{:>{max(9, len(title))}}}" for title in titles[1:])
        first = max(8, len(titles[0]))
        self.line = f"{{:<{width}}}  {{:>{first}}}  {{:>19}}{columns}  {{:>8}}"
        tell(
            self.line.format(
                "predictor", titles[0], "95 % interval", *titles[1:], "s / fit"
            )
        )
        self._next(None)

    def trial(self, comparison: Comparison, trial: Trial, left: float | None) -> None:
        """Print the line of a trial."""
        self.status.clear()
        mean = trial.fit_seconds
        seconds = "" if mean is None else f"{mean:.2f}"
        if trial.failure or trial.left_out:
            what = "failed" if trial.failure else "left out"
            empty = [""] * len(self.scores)
            tell(self.line.format(trial.name, what, *empty, seconds))
            note(f"{trial.name}: {trial.failure or trial.left_out}{_way_out(trial)}")
        else:
            score = comparison.scores_of([trial])[trial.name]
            ends = f"{score.low:.4f} to {score.high:.4f}"
            first, *others = [
                _written(getattr(score, one.field), one.format) for one in self.scores
            ]
            tell(self.line.format(trial.name, first, ends, *others, seconds))
        self.n_done += 1
        self._next(left)

    def _next(self, left: float | None) -> None:
        """Show what runs now, and the time that is left once it can be estimated."""
        if self.n_done == len(self.queue):
            self.status.show("finding the reasons for the scores, writing the report")
            return
        done = f"[{self.n_done + 1}/{len(self.queue)}]"
        self.status.show(f"{done} {self.queue[self.n_done].name}", left)


def _written(value: float, form: str) -> str:
    """Return a score as a terminal shows it.

    >>> _written(12013.4, "number"), _written(1.1294, "number"), _written(0.5, ".4f")
    ('12,013', '1.129', '0.5000')
    """
    if form != "number":
        return format(value, form)
    return f"{value:,.0f}" if 9999.5 <= abs(value) < 1e9 else f"{value:.4g}"


def _way_out(trial: Trial) -> str:
    """Return the option that runs what was left out, or ""."""
    if " are left of the time " in trial.left_out:
        return "; a longer --budget runs it"
    return "; --all runs it" if trial.left_out.startswith("left out") else ""
