"""How often claims about missingness are made where nothing is there, and where it is.

Values missing completely at random, in Gaussian, lognormal and binary features: each
kind of claim that `explain()` or the report prints should be made in at most 2 % of the
sets. Then with a real effect (another column decides, y is shifted by half a standard
deviation, probit self-masking with slope 1; 1,000 rows): in at least 90 %. Then groups
whose mask and whose level of y have nothing to do with each other.

The columns: y differs; y differs beyond what the others explain; other features differ;
values are not missing completely at random (any of the three); then self-masking as
`explain()` of an AutoRegressor with linear candidates says it, and as the report does.
"Possible" counts "yes" too.

    python benchmarks/levels.py [--sets 400] [--jobs 16] [--skip-fits]
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import special

from missfit import (
    EMLR,
    AutoRegressor,
    ConditionalImputedLR,
    FactorizedLR,
    SelfMaskedLR,
)
from missfit.comparison import compare_table
from missfit.comparison.candidates import candidate
from missfit.comparison.diagnosis import why_missing
from missfit.evidence.mechanism import mechanism, rows_of
from missfit.tables.training import TrainingTable

KINDS = ("gaussian", "lognormal", "binary")
SIZES = ((100, 0.1), (300, 0.05), (1000, 0.3))
EFFECTS = ("another column", "y", "self")
CLAIMS = ("target", "residual", "features", "mcar_rejected")
D = 5


def features(rng, kind, n):
    """Correlated features of standard deviation about one."""
    mixing = np.eye(D) + 0.4 * rng.standard_normal((D, D))
    Z = rng.standard_normal((n, D)) @ mixing.T / np.sqrt((mixing**2).sum(axis=1))
    if kind == "gaussian":
        return Z
    X = np.exp(Z) if kind == "lognormal" else (special.ndtri(0.8) < Z).astype(float)
    return X / (2.16 if kind == "lognormal" else 0.4)


def table(kind, n, rate, effect, *, seed):
    """Return X with holes, and y."""
    rng = np.random.default_rng(seed)
    X = features(rng, kind, n)
    y = X.sum(axis=1) + rng.standard_normal(n)
    hidden = rng.random(X.shape) < rate
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    if effect == "another column":
        hidden[:, 0] = False
        hidden[:, 1] = rng.random(n) < special.expit(standard[:, 0] - 1)
    if effect == "y":
        y = y + 0.5 * y.std() * hidden[:, 2]
    if effect == "self":
        bias = special.ndtri(rate) * np.sqrt(2)
        hidden = rng.standard_normal(X.shape) < bias + standard
    return np.where(hidden, np.nan, X), y


def grouped_table(kind, *, seed):
    """40 groups of 5 to 25 rows: y and the masks each have levels of their own."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(40), rng.integers(5, 26, 40))
    X = features(rng, kind, len(groups)) + rng.standard_normal((40, D))[groups]
    y = X.sum(axis=1) + 3 * rng.standard_normal(40)[groups]
    y += rng.standard_normal(len(groups))
    rate = special.expit(-1 + 2 * rng.standard_normal((40, D)))
    rate[:, 0] = rng.random(40) < 0.3  # a whole group lacks it
    return np.where(rng.random(X.shape) < rate[groups], np.nan, X), y, groups


def claimed(X, y, groups=None):
    """Return the claims of `explain()` and the report that need no folds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        law = EMLR().fit(X, y)
    found = mechanism(rows_of(X, y, groups=groups), (law.mean_, law.covariance_))
    return [bool(getattr(found, claim)) for claim in CLAIMS]


def explained(X, y, groups=None):
    """Return what `explain()` says of self-masking, with linear candidates."""
    bases = [EMLR(), ConditionalImputedLR(), FactorizedLR(), SelfMaskedLR()]
    model = AutoRegressor(bases, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, groups=groups)
    return _verdict(model.explain().mechanism)


def reported(X, y, groups=None):
    """Return what the report says of self-masking."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    names = ("EMLR", "ConditionalImputedLR", "FactorizedLR", "SelfMaskedLR")
    tried = [candidate(name) for name in names]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare_table(TrainingTable(frame, y, "y", groups, []), tried)
        law = EMLR().fit(found.X, found.y)
    return _verdict(why_missing(found, law))


def _verdict(found):
    return [bool(found.self_masking), found.self_possible]


def one_set(make, arguments, seed, fits):
    """Return the claims on one table, as numbers; NaN where it was not asked."""
    rows = make(*arguments, seed=seed)
    masked = [*explained(*rows), *reported(*rows)] if fits else [np.nan] * 4
    return [*claimed(*rows), *masked]


def shares(parallel, make, arguments, n_sets, fits):
    """Share of the sets in which each claim is made."""
    tasks = (delayed(one_set)(make, arguments, s, fits) for s in range(n_sets))
    return np.mean(list(parallel(tasks)), axis=0)


def print_line(name, found, seconds):
    """Print one line of the table."""
    cells = "".join(f"{100 * share:12.2f}" for share in found)
    print(f"{name:44}{cells}{seconds:9.0f} s", flush=True)


def settings():
    """Yield the name, the maker and its arguments of each line."""
    for kind in KINDS:
        for n, rate in SIZES:
            name = f"MCAR, {kind}, n = {n:,}, {rate:.0%} missing"
            yield name, table, (kind, n, rate, "none")
    for kind in KINDS:
        for effect in EFFECTS:
            name = f"effect: {effect}, {kind}, n = 1,000"
            yield name, table, (kind, 1000, 0.3, effect)
    for kind in KINDS:
        yield f"groups without an effect, {kind}", grouped_table, (kind,)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=400, help="tables for each line")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", default="", help="lines whose name contains this")
    parser.add_argument(
        "--skip-fits", action="store_true", help="leave out the claim of self-masking"
    )
    given = parser.parse_args()
    heads = ("y", "beyond", "features", "not MCAR", "self: yes", "possible")
    heads = (*heads, "report: yes", "possible")
    print(f"{'share of sets in %':44}" + "".join(f"{head:>12}" for head in heads))
    with Parallel(n_jobs=given.jobs) as parallel:
        for name, make, arguments in settings():
            if given.only not in name:
                continue
            start = time.perf_counter()
            found = shares(parallel, make, arguments, given.sets, not given.skip_fits)
            print_line(name, found, time.perf_counter() - start)


if __name__ == "__main__":
    main()
