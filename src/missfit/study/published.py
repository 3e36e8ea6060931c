"""The published results and the Bayes rates, to set beside ours."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

KEYS = ["setting", "d", "n", "method", "split"]


def _read(folder: str, name: str) -> Any:
    import pandas as pd

    path = resources.files("missfit") / folder / name
    with resources.as_file(path) as file:
        return pd.read_csv(file)


@cache
def published_means() -> Any:
    """Return the published means and standard deviations over 10 repetitions."""
    return _read("published", "means.csv")


@cache
def bayes_rates() -> dict[tuple[str, int], float]:
    """Return the Bayes R2 by setting and d.

    For the mixtures it is the paper's, which is exact. For the self-masked setting,
    where the paper has none, it is `missfit.bayes.bayes_r2` with a million draws
    (``selfmasked_bayes_rates.csv`` in this folder, with standard errors).
    """
    both = [
        _read("published", "bayes_rates.csv"),
        _read("study", "selfmasked_bayes_rates.csv"),
    ]
    return {
        (row.setting, int(row.d)): float(row.r2)
        for table in both
        for row in table.itertuples()
    }


def beside_published(table: Any) -> Any:
    """Return our results beside the published ones.

    There is one row per setting, d, n, method and split. The columns are n_repetitions,
    r2 and mse (means over our repetitions), r2_median, the published r2_mean, r2_std
    and mse_mean (NaN where there is none), r2_difference, and r2_bayes, the R2 of the
    Bayes predictor. On test rows there is also the regret, which is r2_bayes minus r2,
    and regret_error, its standard error over the repetitions (NaN where there is one).
    For a law of one's own, r2_bayes is that of the same rows as r2, so that the error
    of the regret does not include the chance in these rows.
    """
    import pandas as pd

    done = table[table["status"] == "ok"]
    if "log_loss" in done:  # classes have no R2
        done = done[done["log_loss"].isna()]
    if "bayes_r2" not in done:  # a table of an older version
        done = done.assign(bayes_r2=float("nan"))
    ours = done.groupby(KEYS, as_index=False).agg(
        n_repetitions=("repetition", "nunique"),
        r2=("r2", "mean"),
        r2_median=("r2", "median"),
        mse=("mse", "mean"),
        r2_bayes=("bayes_r2", "mean"),
    )
    both = ours.merge(published_means(), on=KEYS, how="left")
    both["r2_difference"] = both["r2"] - both["r2_mean"]
    pairs = zip(both["setting"], both["d"], strict=True)
    rates = [bayes_rates().get(pair, float("nan")) for pair in pairs]
    both["r2_bayes"] = both["r2_bayes"].fillna(pd.Series(rates, index=both.index))
    both["regret"] = (both["r2_bayes"] - both["r2"]).where(both["split"] == "test")
    errors = done.assign(gap=done["r2"] - done["bayes_r2"].fillna(0.0))
    error = errors.groupby(KEYS)["gap"].sem()
    both = both.merge(error.rename("regret_error").reset_index(), on=KEYS, how="left")
    both["regret_error"] = both["regret_error"].where(both["regret"].notna())
    return both


def bayes_rate(table: Any, setting: str, d: int) -> float | None:
    """Return the Bayes R2 of a setting: the paper's, or that of the rows of a table."""
    known = bayes_rates().get((setting, d))
    if known is not None or "bayes_r2" not in table:
        return known
    rows = table[(table["setting"] == setting) & (table["d"] == d)]
    mean = rows["bayes_r2"].mean()
    return None if mean != mean else float(mean)
