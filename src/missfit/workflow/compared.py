"""``missfit.compare``: predictors on a table, on arrays, or on a law that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.bayes import BayesClassifier, expected_target
from missfit.comparison import CompareOptions, Comparison, compare_table, diagnose
from missfit.comparison.offers import ALL_NAMES, offer_of
from missfit.comparison.options import LEAST_ROWS, QUICK
from missfit.comparison.own import check_names, own_candidates
from missfit.comparison.scoreboard import score_frame
from missfit.report.page import write_page
from missfit.report.table.code import reproducing_code
from missfit.report.table.notebook import score_html
from missfit.report.table.recommendation import recommendation
from missfit.report.table.report import table_report
from missfit.report.table.suspicions import answer_in_words
from missfit.workflow.compare import chosen_candidates
from missfit.workflow.data import READING, read_options, refuse_unknown, training_table
from missfit.workflow.provenance import provenance_of

OPTIONS = {one.name for one in fields(CompareOptions)} - {"reading", "seed"}
KNOWN = {*OPTIONS, *READING, "cv", "n", "bayes", "random_state"}


def compare(
    data: Any,
    target: Any = None,
    estimators: Mapping[str, Any] | None = None,
    *,
    n: int = 1000,
    bayes: Any = None,
    random_state: int = 0,
    **options: Any,
) -> Compared:
    """Compare predictors on the same folds of one table by cross-validation.

    Parameters
    ----------
    data : str, Path, DataFrame, array-like of shape (n, d), or a law
        A file; a pandas or polars frame; an array of the features; or a law of
        `missfit.simulate`, from which ``n`` rows are drawn. A law of your own has
        ``sample(n, random_state)``, which returns X and y.
    target : str or array-like of shape (n,)
        The column to predict, or its values where ``data`` holds the features alone. It
        is left out for a law. Text, truth values and few whole numbers are classes;
        ``task="number"`` or ``task="class"`` decides otherwise.
    estimators : mapping of str to estimator, optional
        Your own estimators, by the names to show, beside those of the library. They are
        given numbers, with NaN where a value is missing. One that fails has a line that
        says why. Where the target is a class, they are given the places of the classes,
        0, 1, 2, ..., and need predict_proba.
    n : int
        The number of rows to draw from a law.
    bayes : a law, or an object with predict, optional
        The truth: the law that the rows come from, or its Bayes predictor, which is
        given the features. The table then has the regret to it on the same rows. Where
        ``data`` is a law it need not be given.
    random_state : int
        The seed of the rows drawn, of the folds and of the predictors.
    **options
        ``only`` and ``skip`` are lists of predictors to try and to leave out; ``cv`` is
        the number of folds; ``group`` is a column, or an array, of groups that stay
        together; ``time`` is a column, or an array, of times, and each fold is then
        predicted from the rows before it; ``n_jobs`` is the number of processes;
        ``budget`` is the most seconds to take, and ``quick=True`` gives an answer in
        less than a minute; see `missfit.comparison.CompareOptions` for the others.
        ``categorical`` and ``drop`` are lists of columns; see
        `missfit.tables.options.ReadOptions` for more on how a table is read.

    Returns
    -------
    Compared
        Its ``table`` is a frame of the scores; ``best`` and ``recommended`` are names;
        ``report(path)`` writes a page.

    Examples
    --------
    >>> import missfit
    >>> law = missfit.simulate.published("mixture1", 4)
    >>> names = ["EMLR", "ConstantImputedLR"]
    >>> found = compare(law, n=500, only=names, random_state=0)
    >>> found.best
    'EMLR'
    >>> found.table[["predictor", "R2", "regret"]].round(2).values.tolist()
    [['EMLR', 0.65, 0.0], ['ConstantImputedLR', 0.57, 0.08]]
    """
    refuse_unknown(options, KNOWN, "compare")
    source = data
    if is_law(data):
        _refuse_target(target)
        data, target = data.sample(n, random_state)
    said = {name: options.pop(name) for name in READING & options.keys()}
    group, time = options.pop("group", None), options.pop("time", None)
    if "cv" in options:
        options["n_folds"] = options.pop("cv")
    if options.get("quick"):
        options = QUICK | options
    settled = CompareOptions(
        reading=read_options(said),
        group=group if isinstance(group, str) else None,
        time=time if isinstance(time, str) else None,
        seed=random_state,
        **options,
    )
    settled.check()
    own = own_candidates(estimators)
    check_names(settled.only, settled.skip, [*(o.name for o in own), *ALL_NAMES])
    table = training_table(
        data,
        target,
        settled.reading,
        group=group,
        time=time,
        least_rows=LEAST_ROWS,
    )
    settled.check_rows(len(table.y))
    tried = chosen_candidates(settled, offer_of(table.classes), own)
    found = compare_table(table, tried, settled)
    truth, notes = None, []
    if bayes is not None:
        truth = _truth(found, bayes)
    elif is_law(source):
        truth, notes = _truth_of_law(found, source)
    compared = Compared(found, settled, truth, source, notes)
    found.notes.extend(compared.on_truth)
    return compared


def is_law(data: Any) -> bool:
    """Return whether rows can be drawn from something; frames have ``sample`` too."""
    return hasattr(data, "sample") and not hasattr(data, "columns")


def _refuse_target(target: Any) -> None:
    if target is not None:
        raise TypeError(
            "a law has a target of its own; leave the target out, or give the rows "
            "that you drew."
        )


def _truth(found: Comparison, bayes: Any) -> NDArray[np.float64]:
    """Return what the Bayes predictor says of the rows that were compared."""
    n_columns, d = found.X.shape[1], len(found.names)
    if n_columns != d:
        raise ValueError(
            f"the {d} features have {n_columns} columns of numbers; a Bayes predictor "
            "is known for numbers alone, so leave the categories out."
        )
    classes = found.task.classes
    if hasattr(bayes, "predict"):
        return found.task.predict(bayes, found.X)
    if classes is None:
        return expected_target(bayes, found.X)
    shares = BayesClassifier(bayes).predict_proba(found.X)
    return shares[:, np.array(classes, dtype=np.intp)]  # a rare one may not be drawn


def _truth_of_law(found: Comparison, law: Any) -> tuple[Any, list[str]]:
    """Return what the Bayes predictor of a law says, or why it says nothing."""
    try:
        return _truth(found, law), []
    except TypeError as error:  # of a law whose Bayes predictor is not known
        return None, [f"There is no regret: {error}"]


@dataclass(frozen=True, repr=False)
class Compared:
    """What `missfit.compare` found.

    Attributes
    ----------
    comparison : Comparison
        The table, its folds, and all predictions.
    options : CompareOptions
        How the predictors were compared.
    bayes : ndarray of shape (n,) or (n, K), optional
        What the Bayes predictor predicts for the rows, where it is known.
    source : object
        The table or law that was given.
    notes : list of str
        What else there is to say.
    """

    comparison: Comparison
    options: CompareOptions
    bayes: NDArray[np.float64] | None = None
    source: Any = None
    notes: Sequence[str] = ()

    @cached_property
    def table(self) -> Any:
        """The scores as a frame, see `missfit.comparison.scoreboard.score_frame`."""
        return score_frame(self.comparison, self.bayes)

    @property
    def scores(self) -> dict[str, Any]:
        """The scores of each predictor that has any, by name."""
        return self.comparison.scores

    @property
    def best(self) -> str:
        """The name of the predictor with the best score."""
        return self.comparison.best

    @property
    def recommended(self) -> str:
        """The name of the quickest predictor within one standard error of the best."""
        return self.comparison.recommended

    @property
    def suspicions(self) -> list[str]:
        """What is odd about the table, with what would answer it, before any score."""
        return [
            f"Suspicion ({one.kind}): {one.sentence}{answer_in_words(one.remedy)}"
            for one in self.comparison.suspicions
        ]

    @property
    def bayes_score(self) -> float | None:
        """The R2 or log-loss of the Bayes predictor on the same rows, where known."""
        if self.bayes is None:
            return None
        rows, task = self.comparison.is_tested, self.comparison.task
        y = self.comparison.y[rows]
        loss = task.loss(y, self.bayes[rows])
        return task.score_with_error(y, loss, None).value

    @property
    def bayes_r2(self) -> float | None:
        """The R2 of the Bayes predictor of numbers, where it is known."""
        return None if self.comparison.task.classes is not None else self.bayes_score

    @property
    def on_truth(self) -> list[str]:
        """A sentence on what could be known, where that is known."""
        if self.bayes_score is None:
            return []
        value = f"{self.comparison.task.words.score} {self.bayes_score:.4f}"
        return [f"The Bayes predictor has {value} on these rows."]

    def report(self, path: str | Path = "missfit-report") -> Path:
        """Write the report as one page and return its path.

        Parameters
        ----------
        path : str or Path
            The file to write, if it ends with .html; otherwise the folder for a file
            named report.html.
        """
        path = Path(path)
        path = path if path.suffix.lower() == ".html" else path / "report.html"
        start = monotonic()
        diagnosis = diagnose(self.comparison, n_jobs=self.options.n_jobs)
        code = reproducing_code(self.comparison, self.source, self.options)
        fits = sum(trial.seconds.sum() for trial in self.comparison.trials)
        origin = provenance_of(
            self.source,
            self.comparison,
            command="missfit.compare in Python",
            seconds=float(fits) + monotonic() - start,
        )
        told = {"origin": origin, "bayes": self.bayes}
        write_page(path, table_report(self.comparison, diagnosis, code, **told))
        return path

    def _words(self) -> str:
        """Return what to use, and what could be known."""
        words = [recommendation(self.comparison), *self.notes, *self.on_truth]
        return " ".join(words)

    def __repr__(self) -> str:
        """Write the scores as text."""
        scored = self.table.dropna(subset="behind")
        lines = scored.drop(columns="note").to_string(
            index=False, float_format=lambda value: f"{value:.4f}"
        )
        without = self.table[self.table["behind"].isna()]
        notes = [f"{row.predictor}: {row.note}" for row in without.itertuples()]
        return "\n".join([*self.suspicions, lines, *notes, "", self._words()])

    def _repr_html_(self) -> str:
        """Write the scores as a small table for a notebook."""
        words = [*self.suspicions, self._words()]
        return score_html(self.table, self.recommended, words)
