"""AutoClassifier against the Bayes rate, against rivals, and what it costs, in one run.

- simulated: the paper's three settings, 10 features, 750 to 75,000 rows, ten draws, the
  label cut at the median and at the 90 % quantile of y; the log-loss above that of the
  Bayes classifier on 20,000 rows, and the calibration error by the number missing.
- tables: CSV files of numbers with classes in the last column, five stratified folds of
  seed 0; log-loss and AUC (of more than two classes the mean over them of each against
  the others) beside those of five rivals.
- times: the median of a few fits of each size beside its bar: seconds, or so many fits
  of boosting for a table; PatternClassifier beside EMLR, and EMProbit.

A fit is appended to a CSV file as it ends; what is there is not fitted again.

    python benchmarks/classes.py [--only simulated tables times] [--tables CSV ...]
        [--sizes N ...] [--draws N] [--jobs N] [--repeats N] [--out FILE] [--table]
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from header import header
from resumable import append_fits
from scipy import special  # a ufunc alone is not found by other processes
from scipy.stats import loguniform, randint
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import RandomizedSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from missfit import EMLR, AutoClassifier, EMProbit, PatternClassifier
from missfit.bayes import BayesClassifier
from missfit.simulate import Probit, published

KEY = ["section", "case", "size", "cut", "draw", "method"]
FIELDS = [*KEY, "log_loss", "excess", "auc", "error", "worst_error", "seconds", "said"]
SETTINGS = ("mixture1", "mixture3", "selfmasked")
SIZES, CUTS, N_TEST = (750, 7_500, 75_000), (0.5, 0.9), 20_000
OURS = "AutoClassifier"
# the bars: log-loss above the Bayes classifier's
MOST_EXCESS = {
    ("mixture1", 7_500): 0.010,
    ("mixture3", 7_500): 0.020,
    ("selfmasked", 7_500): 0.008,
    **{(setting, 75_000): 0.003 for setting in SETTINGS},
}
MOST_AUC_BELOW = 0.002
MOST_ERROR, MOST_GROUP_ERROR = 0.02, 0.04  # of calibration, with 7,500 rows
FEWEST_ROWS = 500  # test rows of a number missing, whose calibration is told
TIMES = {  # seconds that a fit may take
    "200 x 2": 1.5,
    "750 x 10, mixture3": 4.5,
    "300 x 200": 15.0,
    "75,000 x 10, mixture1": 4.5,
    "75,000 x 10, mixture3": 15.0,
    "75,000 x 10, selfmasked": 6.0,
}
MOST_BOOSTING_FITS = 18  # that the fit of a table may take
MOST_LINEAR_FITS = 1.5  # of EMLR, that PatternClassifier(EMLR()) may take
MOST_EM_PROBIT = 20.0  # seconds
TURNS = 5  # of fits of a tenth of a second, for each that is timed


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), metavar="SECTION")
    parser.add_argument("--tables", nargs="+", type=Path, default=[], metavar="CSV")
    parser.add_argument("--settings", nargs="+", default=SETTINGS, metavar="NAME")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="N")
    parser.add_argument("--cuts", nargs="+", type=float, default=CUTS, metavar="SHARE")
    parser.add_argument("--draws", type=int, default=10, help="of each simulated cell")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="all by default")
    parser.add_argument("--repeats", type=int, default=3, help="fits that are timed")
    parser.add_argument("--jobs", type=int, default=2, help="fits side by side")
    parser.add_argument("--out", type=Path, default=Path("out/classes.csv"))
    parser.add_argument("--table", action="store_true", help="print what the file has")
    return parser.parse_args()


def logistic():
    return LogisticRegressionCV(Cs=10, scoring="neg_log_loss", max_iter=1000)


def tuned_boosting():
    space = {
        "learning_rate": loguniform(0.01, 0.3),
        "max_leaf_nodes": randint(4, 64),
        "min_samples_leaf": randint(5, 100),
        "l2_regularization": loguniform(1e-3, 10),
        "max_iter": randint(50, 400),
    }
    return RandomizedSearchCV(
        HistGradientBoostingClassifier(random_state=0),
        space,
        n_iter=12,
        cv=3,
        scoring="neg_log_loss",
        random_state=0,
    )


def mean_and_indicators():
    return make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())


METHODS = {
    OURS: lambda: AutoClassifier(random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "mean + indicators logistic": lambda: make_pipeline(
        *mean_and_indicators(), logistic()
    ),
    "iterative logistic": lambda: make_pipeline(
        StandardScaler(), IterativeImputer(max_iter=10, random_state=0), logistic()
    ),
    "boosting, 12 draws": tuned_boosting,
    "forest": lambda: make_pipeline(
        SimpleImputer(add_indicator=True),
        RandomForestClassifier(500, min_samples_leaf=5, random_state=0),
    ),
}
SIMULATED_METHODS = list(METHODS)[:4]


def probabilities(method, X, label, unseen):
    """Return the shares of the classes of unseen rows, the seconds, and the choice."""
    model, start = METHODS[method](), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, label)
        seconds = time.perf_counter() - start
        shares = model.predict_proba(unseen).clip(1e-15, 1 - 1e-15)
    said = model.explain().choice if method == OURS else ""
    return shares, seconds, said


def fit_simulated(setting, n, cut, draw, method):
    law = published(setting, 10)
    law = Probit(law, law.target_quantile(cut))
    X, label = law.sample(n, random_state=draw)
    unseen, truth = law.sample(N_TEST, random_state=1000 + draw)
    every, seconds, said = probabilities(method, X, label, unseen)
    shares = every[:, 1]
    best = BayesClassifier(law).predict_proba(unseen)[:, 1].clip(1e-15, 1 - 1e-15)
    # the mean over the labels that the rows could have had: less noise than the drawn
    excess = special.kl_div(best, shares) + special.kl_div(1 - best, 1 - shares)
    error = calibration_error(shares, best)
    missing = np.isnan(unseen).sum(axis=1)
    groups = [missing == k for k in range(11)]
    worst = max(
        calibration_error(shares[g], best[g]) for g in groups if g.sum() >= FEWEST_ROWS
    )
    key = ["simulated", setting, n, cut, draw, method]
    found = [log_loss(truth, shares), excess.mean(), roc_auc_score(truth, shares)]
    return [*key, *found, error, worst, seconds, said]


def calibration_error(shares, truth, n_bins=10):
    """Mean distance of the shares from the truth, over bins of as many rows."""
    bins = np.array_split(np.argsort(shares), n_bins)
    gaps = [len(rows) * abs(shares[rows].mean() - truth[rows].mean()) for rows in bins]
    return sum(gaps) / len(shares)


def fit_table(path, fold, method):
    X, y = read(path)
    splits = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    train, test = list(splits)[fold]
    shares, seconds, said = probabilities(method, X[train], y[train], X[test])
    found = [log_loss(y[test], shares), "", auc(y[test], shares), "", ""]
    key = ["tables", path.name, len(X), "", fold, method]
    return [*key, *found, seconds, said]


def auc(y, shares):
    """Return the AUC of two classes; of more, the mean of each against the others."""
    if shares.shape[1] == 2:
        return roc_auc_score(y, shares[:, 1])
    return roc_auc_score(
        y, shares / shares.sum(axis=1, keepdims=True), multi_class="ovr"
    )


def read(path):
    table = pd.read_csv(path).to_numpy(float)
    return table[:, :-1], table[:, -1].astype(int)


def simulated(args):
    methods = args.methods or SIMULATED_METHODS
    fits = {
        ("simulated", setting, n, cut, draw, method): (setting, n, cut, draw, method)
        for n in args.sizes
        for draw in range(args.draws)
        for setting in args.settings
        for cut in args.cuts
        for method in methods
    }
    append_fits(args.out, FIELDS, fits, fit_simulated, args.jobs)


def tables(args):
    fits = {
        ("tables", path.name, len(read(path)[0]), "", fold, method): (
            path,
            fold,
            method,
        )
        for path in args.tables
        for fold in range(5)
        for method in args.methods or METHODS
    }
    if fits:
        append_fits(args.out, FIELDS, fits, fit_table, args.jobs)


def timed_tables(args):
    """Return rows and labels of each size that is timed."""
    rng = np.random.default_rng(0)
    for n, d in ((200, 2), (300, 200)):
        X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, d)) + rng.normal(size=(n, d))
        label = X[:, :10].sum(axis=1) + rng.normal(size=n) > 0
        X[rng.random(X.shape) < 0.3] = np.nan
        yield f"{n} x {d}", X, label
    for setting, n in (("mixture3", 750), *((name, 75_000) for name in SETTINGS)):
        law = published(setting, 10)
        X, label = Probit(law, law.target_quantile(0.5)).sample(n, random_state=0)
        yield f"{n:,} x 10, {setting}", X, label
    for path in args.tables:
        yield path.name, *read(path)


def times(args):
    """Print the medians of the seconds of fits, one at a time, with all threads."""
    print("| fit | seconds | bar | ratio | holds | boosting | times |")
    print("|" + "---|" * 7)
    METHODS[OURS]().fit(np.eye(40, 2), np.arange(40) % 2)  # imports are not counted
    for name, X, label in timed_tables(args):
        ours = median_seconds(METHODS[OURS], X, label, args.repeats)
        boosting = median_seconds(METHODS["boosting"], X, label, args.repeats)
        bar = TIMES.get(name, MOST_BOOSTING_FITS * boosting)
        print_time(name, ours, bar, f"{boosting:.2f} | {ours / boosting:.0f}")
    law = published("mixture1", 10)
    model = Probit(law, law.target_quantile(0.5))
    X, label = model.sample(75_000, random_state=0)
    # short fits beside each other in turn, so that a busy moment disturbs both
    turns = [
        (
            median_seconds(EMLR, X, label.astype(float), 1),
            median_seconds(lambda: PatternClassifier(EMLR()), X, label, 1),
        )
        for _ in range(TURNS * args.repeats)
    ]
    linear, ours = np.median(turns, axis=0)
    name = "75,000 x 10, mixture1"
    print_time(f"PatternClassifier, {name}", ours, MOST_LINEAR_FITS * linear, " | ")
    ours = median_seconds(EMProbit, X, label, args.repeats)
    print_time(f"EMProbit, {name}", ours, MOST_EM_PROBIT, " | ")


def print_time(name, seconds, bar, rest):
    print(
        f"| {name} | {seconds:.2f} | {bar:.2f} | {seconds / bar:.2f} | "
        f"{verdict(seconds <= bar)} | {rest} |",
        flush=True,
    )


def median_seconds(make, X, y, repeats):
    """Return the median of the seconds that fits take."""
    found = []
    for _ in range(repeats):
        model, start = make(), time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        found.append(time.perf_counter() - start)
    return float(np.median(found))


def verdict(holds):
    return "yes" if holds else "**no**"


def print_simulated(rows):
    rows = rows[rows.section == "simulated"]
    if rows.empty:
        return
    print(
        "\n| setting | rows | cut | draws | excess | bar | holds | best rival | below "
        "| calibration error | worst by number missing | holds |"
    )
    print("|" + "---|" * 12)
    for (case, size, cut), cell in rows.groupby(["case", "size", "cut"]):
        ours = cell[cell.method == OURS]
        if ours.empty:
            continue
        rivals = cell[cell.method != OURS].groupby("method").excess.mean()
        excess, bar = ours.excess.mean(), MOST_EXCESS.get((case, size))
        errors = ours.error.mean(), ours.worst_error.mean()
        calibrated = errors[0] <= MOST_ERROR and errors[1] <= MOST_GROUP_ERROR
        best = rivals.min() if len(rivals) else np.nan
        print(
            f"| {case} | {size:,} | {cut} | {len(ours)} | {excess:.4f} "
            f"| {'' if bar is None else bar} | "
            f"{'' if bar is None else verdict(excess <= bar)} | {best:.4f} | "
            f"{verdict(excess < best)} | {errors[0]:.4f} | {errors[1]:.4f} | "
            f"{verdict(calibrated) if size == 7_500 else ''} |"
        )


def print_tables(rows):
    rows = rows[rows.section == "tables"]
    for case, cell in rows.groupby("case"):
        by_method = cell.groupby("method")[["log_loss", "auc", "seconds"]].mean()
        if OURS not in by_method.index or len(by_method) < 2:
            print(by_method.round(4).to_string())
            continue
        ours, rivals = by_method.loc[OURS], by_method.drop(OURS)
        best, auc = rivals.log_loss.min(), rivals.auc.max()
        print(f"\n{case}, {int(cell['size'].iloc[0]):,} rows")
        print(by_method.sort_values("log_loss").round(4).to_string())
        print(
            f"log-loss {ours.log_loss:.4f} below {best:.4f}: "
            f"{verdict(ours.log_loss < best)}; AUC {ours.auc:.4f}, at most "
            f"{MOST_AUC_BELOW} below {auc:.4f}: "
            f"{verdict(ours.auc >= auc - MOST_AUC_BELOW)}"
        )


SECTIONS = {"simulated": simulated, "tables": tables, "times": times}


def main():
    args = options()
    print(header())
    if not args.table:
        for name in args.only or SECTIONS:
            SECTIONS[name](args)
    if args.out.exists():
        rows = pd.read_csv(args.out)
        print_simulated(rows)
        print_tables(rows)


if __name__ == "__main__":
    main()
