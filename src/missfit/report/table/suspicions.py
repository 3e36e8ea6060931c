"""The section of the report on what is suspicious about the table."""

from __future__ import annotations

from collections.abc import Sequence

from missfit.report.page import Html, element, paragraph, section
from missfit.suspicions import Remedy, Suspicion
from missfit.suspicions.suspicion import listed


def suspicions_section(suspicions: Sequence[Suspicion]) -> Html:
    """Return the suspicions with their answers; nothing where there are none."""
    if not suspicions:
        return Html("")
    items = [
        element(
            "li",
            element("strong", one.kind),
            f": {one.sentence}{answer_in_words(one.remedy)}",
        )
        for one in suspicions
    ]
    return section(
        "Before you trust the scores",
        paragraph("What was found in the table, and what would answer it:"),
        element("ul", *items),
    )


def answer_in_words(remedy: Remedy | None) -> str:
    """Return what would answer a suspicion, as the end of a line, or ""."""
    words = remedy_in_words(remedy)
    return f" If so: {words}." if words else ""


def remedy_in_words(remedy: Remedy | None) -> str:
    """Return what would answer a suspicion, in a few words, or "".

    >>> remedy_in_words(Remedy("drop", ("a", "b")))
    "leave out 'a' and 'b'"
    """
    if remedy is None:
        return ""
    names = listed(remedy.columns) if remedy.columns else ""
    time = f"by {names}" if names else "by a column with the time of each row"
    return {
        "drop": f"leave out {names}",
        "group": f"hold out the rows of one {names} together",
        "time": f"test on what follows in time, {time}",
        "task": f"set the task to {' '.join(remedy.columns)}",
        "log": "make a column with the logarithm and predict that",
        "keep": f"say that {names} {'is' if len(remedy.columns) == 1 else 'are'} to be "
        "read as numbers",
    }[remedy.action]
