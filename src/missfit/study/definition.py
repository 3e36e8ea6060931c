"""Read a study from TOML into a frozen grid; every mistake is named."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path

from missfit.study.data_entries import check_size, data_sets
from missfit.study.fields import Fields
from missfit.study.grid import FIGURES, Cell, Method, Study
from missfit.study.imported import StudyError
from missfit.writing import kind_of_place

MOST_BYTES = 10_000_000  # size of a file; one that is written by hand has thousands
MOST_DOTS = 1_000  # dots in one line


def study_names() -> list[str]:
    """Return the names of the studies that come with missfit.

    >>> "quick" in study_names()
    True
    """
    folder = resources.files("missfit") / "study" / "studies"
    names = (item.name for item in folder.iterdir())
    return sorted(name[:-5] for name in names if name.endswith(".toml"))


def load(study: str | Path) -> Study:
    """Read a study: the name of one that comes with missfit, or a TOML file.

    Examples
    --------
    >>> figure1 = load("figure1")
    >>> len(figure1.cells())
    1260
    """
    if str(study) in study_names():
        path = resources.files("missfit") / "study" / "studies" / f"{study}.toml"
        return parse(path.read_text(encoding="utf-8"), name=str(study))
    path = Path(study)
    if path.suffix != ".toml":
        raise StudyError(
            f"there is no study {str(study)!r}; choose {', '.join(study_names())}, or "
            "give a .toml file."
        )
    text = _text_of(path)
    return parse(text, name=path.stem, folder=path.resolve().parent, where=str(path))


def _text_of(path: Path) -> str:
    kind = kind_of_place(path)
    if kind != "a file":
        problem = f"is {kind}, not a file" if kind else "does not exist"
        raise StudyError(f"the file {path} {problem}.")
    if path.stat().st_size > MOST_BYTES:
        raise StudyError(
            f"{path} has {path.stat().st_size:,} bytes; a study has at most "
            f"{MOST_BYTES:,}."
        )
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise StudyError(f"{path} is not text in UTF-8 ({error}).") from error


def parse(
    text: str, *, name: str, folder: Path | None = None, where: str | None = None
) -> Study:
    """Return the study that TOML text describes; see docs/study.md for its keys."""
    where = where or f"study {name}"
    _refuse_depth(text, where)
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise StudyError(f"{where} is not TOML: {error}.") from error
    fields = Fields(content, where)
    title = fields.name("title", name)
    figures = _figures(fields)
    data = [
        item
        for i, entry in enumerate(fields.take("data", list))
        for item in data_sets(Fields(entry, f"{where}, data {i + 1}"), folder)
    ]
    methods = [
        _method(Fields(entry, f"{where}, method {i + 1}"))
        for i, entry in enumerate(fields.take("methods", list))
    ]
    fields.finish()
    check_size(len(data), len(methods), where)
    place = None if folder is None else str(folder)
    study = Study(name, title, tuple(data), tuple(methods), figures, place)
    _check_unique(study, where)
    return study


def _figures(fields: Fields) -> tuple[int, ...]:
    """Take the numbers of the figures to draw."""
    figures = fields.numbers("figures", FIGURES, empty=True)
    if set(figures) - set(FIGURES):
        raise StudyError(
            f"{fields.where}: figures = {list(figures)}; choose among "
            f"{', '.join(map(str, FIGURES))}."
        )
    return figures


def _refuse_depth(text: str, where: str) -> None:
    """Refuse keys of thousands of parts: 20,000 take tomllib 12 s and 1.8 GB."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > MOST_DOTS:
            raise StudyError(
                f"{where}: line {number} has more than {MOST_DOTS} dots, which is no "
                "key of a study."
            )


def _method(fields: Fields) -> Method:
    name = fields.name("name")
    fields.where += f" ({name})"
    estimator = fields.take("estimator", str)
    text = fields.json("parameters")
    settings = fields.names("settings", None)
    d, rows = fields.numbers("d", None), fields.numbers("rows", None)
    fields.finish()
    return Method(name, estimator, text, settings, d, rows)


def _check_unique(study: Study, where: str) -> None:
    seen: dict[tuple, Cell] = {}
    cells = study.cells()
    for cell in cells:
        place = (cell.data.setting, cell.data.d, cell.data.rows, cell.data.repetition)
        other = seen.setdefault((*place, cell.method.name), cell)
        if other is not cell:
            raise StudyError(
                f"{where}: {cell.method.name!r} is there twice for {cell.data.setting}"
                f", d = {cell.data.d}, rows = {cell.data.rows}; give the methods "
                "different names, or different settings, d or rows."
            )
    if not cells:
        raise StudyError(f"{where}: no method applies to any data set.")
