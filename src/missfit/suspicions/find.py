"""All suspicions about a table, the gravest first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from missfit.suspicions.groups import repeated_groups
from missfit.suspicions.leaks import leaks, mask_leaks
from missfit.suspicions.look import look_at
from missfit.suspicions.order import time_order
from missfit.suspicions.sentinels import sentinels
from missfit.suspicions.suspicion import Suspicion
from missfit.suspicions.target import rare_classes, tails, two_values
from missfit.suspicions.useless import (
    constants,
    empties,
    ids,
    many_texts,
    same_columns,
    same_rows,
)
from missfit.tables.training import TrainingTable


def find_suspicions(
    table: TrainingTable, *, categorical: Sequence[str] = (), seed: int = 0
) -> list[Suspicion]:
    """Return what a person should know about a table before trusting scores on it.

    At most 20,000 rows are looked at, fewer where columns are many. Nothing is said
    about groups or time where the table has groups or times already.

    Parameters
    ----------
    table : TrainingTable
    categorical : sequence of str
        Columns whose values are categories, whatever they look like.
    seed : int
        The seed of the rows that are drawn.
    """
    look = look_at(table, categorical, seed)
    is_free = table.groups is None and table.time is None
    groups = repeated_groups(look) if is_free else []
    times, in_time = time_order(look, seed) if is_free else ([], None)
    if groups and not (times and times[0].columns):
        times, in_time = [], None  # rows stand group by group
    if table.time is not None:
        in_time = np.arange(len(look.y))
    names = {name for one in (*groups, *times) for name in one.columns}
    unnamed = ids(look, {name for one in times for name in one.columns})
    named = names | {name for one in unnamed for name in one.columns}
    return [
        *leaks(look, names, in_time),
        *mask_leaks(look),
        *two_values(look),
        *rare_classes(look),
        *times,
        *groups,
        *sentinels(look),
        *unnamed,
        *many_texts(look, named),
        *empties(look),
        *constants(look),
        *same_columns(look, named),
        *same_rows(look),
        *tails(look),
    ]
