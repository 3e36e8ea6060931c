"""From the records of a study to its table, its figures and a summary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from missfit.study.figures import possible_figures, save_figures
from missfit.study.figures.panels import TITLES, largest_size, main_dimension
from missfit.study.findings import CLASSES, Finding, findings, markdown
from missfit.study.grid import Study
from missfit.study.published import beside_published
from missfit.study.records import read_records, tidy_table, write_table
from missfit.writing import whole_file


@dataclass(frozen=True)
class Collected:
    """The results of a study so far.

    Attributes
    ----------
    table : DataFrame
        Tidy results, one row per cell and split.
    figures : dict
        matplotlib figures by number.
    n_cells, n_failed, n_missing : int
        The number of cells of the study, of those that failed, and of those that have
        not been run yet.
    """

    table: Any
    figures: dict[int, Any]
    n_cells: int
    n_failed: int
    n_missing: int

    @cached_property
    def findings(self) -> list[Finding]:
        """What the table shows, see `missfit.study.findings`."""
        return findings(self.table)

    @cached_property
    def beside_published(self) -> Any:
        """Our means and medians beside the published means."""
        return beside_published(self.table)


def collect(study: Study, out: str | Path, *, published: bool = False) -> Collected:
    """Write the table, the figures and the findings of what is finished in ``out``.

    Parameters
    ----------
    study : Study
    out : path
        The folder that `run` was given.
    published : bool
        Whether the figures mark the published means.
    """
    out = Path(out)
    records = read_records(out / "parts")
    table = tidy_table(study, records)
    write_table(table, out / "results.parquet")
    numbers = [k for k in possible_figures(table) if k in study.figures]
    figures = save_figures(table, numbers, out / "figures", published=published)
    keys = [cell.key for cell in study.cells()]
    n_failed = sum(key in records and records[key]["status"] != "ok" for key in keys)
    n_missing = sum(key not in records for key in keys)
    collected = Collected(table, figures, len(keys), n_failed, n_missing)
    if collected.findings:
        with whole_file(out / "findings.md") as part:
            part.write_text(markdown(collected.findings), encoding="utf-8")
    return collected


def summary(collected: Collected) -> str:
    """Return the test R2, or the log-loss, of every method, as lines of text.

    Each setting is shown at the d and n of figure 3, with its Bayes rate. The columns
    are our median over the repetitions, and the published mean or, for data that are
    not the paper's, the regret to the Bayes predictor.
    """
    both = collected.beside_published
    both = both[both["split"] == "test"]
    lines = []
    for setting in both["setting"].unique():
        part = both[both["setting"] == setting]
        part = part[part["d"] == main_dimension(part)]
        lines += _lines(setting, part[part["n"] == largest_size(part)])
    for finding in collected.findings:
        if finding.title == CLASSES:
            lines += _class_lines(finding)
    return "\n".join(lines)


def _class_lines(finding: Finding) -> Iterator[str]:
    """Yield the log-loss of every method on classes, at the largest n of a setting."""
    settings = dict.fromkeys(row[0] for row in finding.rows)
    for setting in settings:
        part = [row for row in finding.rows if row[0] == setting]
        d = max(row[1] for row in part)
        n = max(row[2] for row in part if row[1] == d)
        yield f"{setting}, d = {d}, {n:,} training rows; test log-loss:"
        yield f"  {'method':<28}{'mean':>10}{'above Bayes':>14}"
        for _, _, _, method, loss, excess, *_ in (
            row for row in part if row[1:3] == (d, n)
        ):
            text = "" if excess is None else f"{excess:.4f}"
            yield f"  {method:<28}{loss:>10.4f}{text:>14}"


def _lines(setting: str, part: Any) -> Iterator[str]:
    """Yield the lines of one setting at one d and n."""
    d, n, rate = int(part["d"].iloc[0]), int(part["n"].iloc[0]), part["r2_bayes"].max()
    bayes = "" if rate != rate else f", Bayes rate {rate:.4f}"
    name, beside = ("regret", "regret")
    if setting in TITLES:
        name, beside = "published mean", "r2_mean"
    yield f"{setting}, d = {d}, {n:,} training rows{bayes}; test R2:"
    yield f"  {'method':<22}{'median':>10}{name:>17}"
    for row in part.itertuples():
        value = getattr(row, beside)
        text = "" if value != value else f"{value:.4f}"
        yield f"  {row.method:<22}{row.r2_median:>10.4f}{text:>17}"
