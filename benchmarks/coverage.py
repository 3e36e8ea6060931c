"""Coverage of ConformalRegressor and ConformalClassifier, by what calibrated them.

Five laws (MCAR, MAR, MAR where noise and missing values depend on the same feature,
probit self-masking, the mixture of three Gaussians of the paper), 400 and 2,000
calibration rows, intervals of 80, 90 and 95 %, 100 replications of 10,000 new rows
each; then rows in groups, 90 %. Then sets of three classes, which are the target of
three of these laws cut at its 40 and 70 % quantiles; those of rows that are all alike
are drawn (`predict_set` with a random_state).

    python benchmarks/coverage.py [--jobs N] [--replications R] [--features D] [--sets]

With --sets only the sets of classes are measured.

The bars: coverage within 2 points of what is asked for, over all rows and for each
number of missing values where the model says "same pattern", or, of sets, of all kinds;
median width at most 1.15 times that of the scores of the same pattern where there are
enough of these; at least 88 % at 90 % with 20 groups. Lines beyond a bar end in a star.
"""

import argparse
from collections import defaultdict

import numpy as np
from header import header
from joblib import Parallel, delayed

from missfit import (
    EMLR,
    ConformalClassifier,
    ConformalRegressor,
    ConstantImputedLR,
    PatternClassifier,
)
from missfit.simulate import (
    MARGaussian,
    MCARGaussian,
    Probit,
    SelfMaskedProbit,
    published,
)

LEVELS, SIZES, N_NEW = (0.8, 0.9, 0.95), (400, 2000), 10_000
N_GROUPS, ROWS_IN_GROUP = (8, 20, 40, 200), 25
HELD_OUT = 0.25
# A coverage of few replications, or with a larger standard error, says nothing about
# two points: "-".
FEWEST, LARGEST_ERROR = 10, 0.007


class UnevenNoise:
    """A law with noise that grows with the first feature, which is never missing.

    Where missing values depend on that feature too, rows hidden on purpose are not
    like the rows that miss values.
    """

    def __init__(self, law):
        self.law = law

    def sample(self, n, random_state):
        """Draw rows, as the law does."""
        X, y = self.law.sample(n, random_state)
        rng = np.random.default_rng(random_state + 20_000)
        return X, y + np.exp(X[:, 0]) * rng.standard_normal(n)


def laws(d):
    """Laws with unequal coefficients: some values are missed more than others."""
    rng = np.random.default_rng(d)
    B = rng.standard_normal((d, d // 2))
    cov = B @ B.T + np.diag(rng.uniform(0.1, 1, d))
    scale = np.sqrt(np.diag(cov))
    law = (np.zeros(d), cov / scale / scale[:, None], np.linspace(0.2, 2.0, d))
    target = {"noise": 0.5}
    return {
        "MCAR": MCARGaussian(*law, rate=0.3, **target),
        "MAR": MARGaussian.with_rate(
            *law, observed=[0, 1], rate=0.4, slope=2.0, **target
        ),
        "MAR, uneven noise": UnevenNoise(
            MARGaussian.with_rate(*law, observed=[0], rate=0.4, slope=2.0)
        ),
        "self-masking": SelfMaskedProbit.with_rate(*law, rate=0.3, slope=1.5, **target),
        "mixture3": published("mixture3", d),
    }


def same_pattern_widths(model, mask, alpha):
    """Half widths from the scores of the same pattern alone, by the usual rank."""
    scores = abs(model.calibration_targets_ - model.calibration_predictions_)
    of = defaultdict(list)
    for row, score in zip(np.isnan(model.calibration_rows_), scores, strict=True):
        of[row.tobytes()].append(score)
    width = {}
    for key, found in of.items():
        rank = int(np.ceil((1 - alpha) * (len(found) + 1) - 1e-9))
        width[key] = np.sort(found)[rank - 1] if rank <= len(found) else np.nan
    return np.array([width.get(row.tobytes(), np.nan) for row in mask])


def replicate(name, d, size, seed):
    """Return (what, rows, rows covered) and (level, ratio of widths) of one fit."""
    law = laws(d)[name]
    X, y = law.sample(int(size / HELD_OUT), random_state=seed)
    new, target = law.sample(N_NEW, random_state=10_000 + seed)
    model = ConformalRegressor(ConstantImputedLR(), random_state=seed).fit(X, y)
    mask = np.isnan(new)
    n_missing = mask.sum(axis=1)
    covered, ratios = [], []
    for level in LEVELS:
        model.set_params(alpha=1 - level)
        lower, upper, kind = model.predict_interval(new, return_kind=True)
        inside = (lower <= target) & (target <= upper)
        for what, rows in parts_of(kind, n_missing).items():
            covered.append(((level, what), rows.sum(), inside[rows].sum()))
        ratio = (upper - lower) / 2 / same_pattern_widths(model, mask, 1 - level)
        if not np.isnan(ratio).all():
            ratios.append((level, np.nanmedian(ratio)))
    return covered, ratios


def parts_of(kind, n_missing):
    """Which rows are of each kind, and of each number of missing values."""
    parts = {"all rows of the table": np.full(N_NEW, True)}
    parts |= {f"kind: {k}": kind == k for k in np.unique(kind)}
    same = kind == "same pattern"
    for k in np.unique(n_missing):
        parts[f"all kinds, {k} missing"] = n_missing == k
        parts[f"same pattern, {k} missing"] = same & (n_missing == k)
        parts[f"other kinds, {k} missing"] = ~same & (n_missing == k)
    return parts


def replicate_sets(name, d, size, seed):
    """Return (what, rows, rows covered) and (level, classes in a set) of one fit."""
    law = laws(d)[name]
    law = Probit(law, [law.target_quantile(0.4), law.target_quantile(0.7)])
    X, label = law.sample(int(size / HELD_OUT), random_state=seed)
    new, truth = law.sample(N_NEW, random_state=10_000 + seed)
    base = PatternClassifier(EMLR())
    model = ConformalClassifier(base, random_state=seed).fit(X, label)
    n_missing = np.isnan(new).sum(axis=1)
    covered, sizes = [], []
    for level in LEVELS:
        model.set_params(alpha=1 - level)
        sets, kind = model.predict_set(new, return_kind=True, random_state=seed)
        inside = sets[np.arange(N_NEW), truth]
        for what, rows in parts_of(kind, n_missing).items():
            covered.append(((level, what), rows.sum(), inside[rows].sum()))
        sizes.append((level, sets.sum(axis=1).mean()))
    return covered, sizes


def table_of_law(name, d, size, n_replications, jobs):
    """Print coverage by kind and number missing, and the ratio of widths."""
    results = Parallel(jobs)(
        delayed(replicate)(name, d, size, seed) for seed in range(n_replications)
    )
    title = f"{name}, {d} features, {size} calibration rows"
    ratios = print_coverage(title, results, ("same pattern", "all rows of"))
    line = [f"{ratio:>8.3f}{star(ratio > 1.15)}" for ratio in ratios]
    print(f"{'width / same pattern':28s}{'':7s}" + "".join(line))


def table_of_sets(name, d, size, n_replications, jobs):
    """Print coverage of sets by kind and number missing, and the classes in a set."""
    results = Parallel(jobs)(
        delayed(replicate_sets)(name, d, size, seed) for seed in range(n_replications)
    )
    title = f"sets of three classes, {name}, {d} features, {size} calibration rows"
    sizes = print_coverage(title, results, ("all kinds", "same pattern", "all rows of"))
    line = "".join(f"{value:>8.3f} " for value in sizes)
    print(f"{'classes in a set':28s}{'':7s}{line}")


def print_coverage(title, results, barred):
    """Print coverage by kind and number missing; return the medians of the rest."""
    cells, ratios = defaultdict(list), defaultdict(list)
    for covered, widths in results:
        for key, n, n_inside in covered:
            cells[key].append((n, n_inside))
        for level, ratio in widths:
            ratios[level].append(ratio)
    print(f"\n{title}")
    print(f"{'':28s}{'share':>7s}" + "".join(f"{level:>9.0%}" for level in LEVELS))
    n_rows = {key: sum(n for n, _ in found) for key, found in cells.items()}
    for what in sorted({what for _, what in cells}, key=_order):
        share = n_rows.get((0.9, what), 0) / n_rows[0.9, "all rows of the table"]
        has_bar = what.startswith(barred)
        line = [_cell(level, has_bar, cells[level, what]) for level in LEVELS]
        if any(cell.strip() != "-" for cell in line):
            print(f"{what:28s}{share:>7.1%}" + "".join(line))
    return [np.median(ratios[level] or [np.nan]) for level in LEVELS]


def star(is_beyond):
    """Return the mark of what is beyond a bar."""
    return "*" if is_beyond else " "


def _order(what):
    first = ("all rows of", "kind", "all kinds", "same", "other")
    return [not what.startswith(word) for word in first], len(what), what


def _cell(level, has_bar, found):
    """Coverage of some rows over all replications, which differ in their rows."""
    n, n_inside = np.array(found or [(0, 0)]).T
    share = n_inside.sum() / max(1, n.sum())
    error = np.sqrt(((n_inside - share * n) ** 2).sum()) / max(1, n.sum())
    if (n > 0).sum() < FEWEST or error > LARGEST_ERROR:
        return f"{'-':>8s} "
    return f"{share:>8.3f}{star(has_bar and abs(share - level) > 0.02)}"


def grouped_rows(rng, n_groups):
    """Rows whose group shifts the target by as much as the noise does."""
    group = np.repeat(np.arange(n_groups), ROWS_IN_GROUP)
    X = rng.standard_normal((len(group), 3))
    effect = rng.standard_normal(n_groups)[group]
    y = X.sum(axis=1) + effect + rng.standard_normal(len(group))
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, y, group


def replicate_groups(n_groups, seed):
    """Return coverage, share of infinite intervals and median width of one fit."""
    rng = np.random.default_rng(seed)
    X, y, group = grouped_rows(rng, n_groups)
    new, target, _ = grouped_rows(rng, 200)
    model = ConformalRegressor(ConstantImputedLR(), random_state=seed)
    model.fit(X, y, groups=group)
    lower, upper = model.predict_interval(new)
    inside = (lower <= target) & (target <= upper)
    infinite = np.isinf(upper - lower)
    return inside.mean(), infinite.mean(), np.median(upper - lower)


def table_of_groups(n_replications, jobs):
    """Print coverage at 90 % against the number of groups."""
    print(f"\n90 % intervals of new groups, {ROWS_IN_GROUP} rows in each")
    print(f"{'groups':>8s}{'coverage':>10s}{'infinite':>10s}{'width':>9s}")
    for n_groups in N_GROUPS:
        results = Parallel(jobs)(
            delayed(replicate_groups)(n_groups, seed) for seed in range(n_replications)
        )
        coverage, infinite, width = np.array(results).T
        mean = coverage.mean()
        print(
            f"{n_groups:>8d}{mean:>9.3f}{star(n_groups >= 20 and mean < 0.88)}"
            f"{infinite.mean():>10.1%}{np.median(width):>9.2f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--replications", type=int, default=100)
    parser.add_argument("--features", type=int, nargs="+", default=[4, 10])
    parser.add_argument("--sets", action="store_true")
    arguments = parser.parse_args()
    print(header())
    how = (arguments.replications, arguments.jobs)
    grid = [(d, size) for d in arguments.features for size in SIZES]
    if not arguments.sets:
        for d, size in grid:
            for name in laws(d):
                table_of_law(name, d, size, *how)
        table_of_groups(*how)
    for d, size in grid:
        for name in ("MCAR", "MAR", "self-masking"):
            table_of_sets(name, d, size, *how)


if __name__ == "__main__":
    main()
