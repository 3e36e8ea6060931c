"""The linear predictors against what they replace, in one run.

- ExpandedLR against the authors' way: the dense expansion of 2^d blocks, StandardScaler
  and RidgeCV(cv=3), for the same predictions (d = 10, 7,500 rows; --quick: d = 8).
- EMLR against one iteration of scikit-learn's IterativeImputer (75,000 x 10), and its
  time after the pass over the rows against the number of rows.
- Rows predicted per second, and the time of a single row.

Each dense fit runs in a process of its own, whose peak memory is reported.
"""

import argparse
import multiprocessing
import resource
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from missfit import EMLR, ConstantImputedLR, ExpandedLR, FactorizedLR, PatternMoments
from missfit.simulate import published, published_data

warnings.simplefilter("ignore")


def seconds(call, n_runs=1):
    """Median time of some runs."""
    times = []
    for _ in range(n_runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def dense_expansion(X):
    """Write out the 2^d blocks (1, X_obs), as the authors do."""
    n, d = X.shape
    code = np.isnan(X) @ (1 << np.arange(d - 1, -1, -1))
    W = np.zeros((n, 2 ** (d - 1) * (d + 2)))
    start = 0
    for m in range(2**d):
        seen = [j for j in range(d) if not m >> (d - 1 - j) & 1]
        rows = np.flatnonzero(code == m)
        W[rows, start] = 1
        W[np.ix_(rows, start + 1 + np.arange(len(seen)))] = X[np.ix_(rows, seen)]
        start += 1 + len(seen)
    return W


def fit_dense(X, y, new):
    model = make_pipeline(StandardScaler(), RidgeCV(alphas=(1e-3, 1, 1e3), cv=3))
    return model.fit(dense_expansion(X), y).predict(dense_expansion(new))


def fit_ours(X, y, new):
    return ExpandedLR().fit(X, y).predict(new)


def peak_kilobytes():
    """Most memory that this process has held."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1])


def measured(fit, d, n, connection):
    """Run a fit in this process; send its time, added peak memory and predictions."""
    X, y = published_data("mixture1", d, 0, 10_000)
    X, y, new = X[:n], y[:n], X[n : n + 1000]
    before = peak_kilobytes()
    start = time.perf_counter()
    prediction = fit(X, y, new)
    elapsed = time.perf_counter() - start
    peak = peak_kilobytes() - before
    connection.send((elapsed, peak / 1024, prediction))


def in_own_process(fit, d, n):
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=measured, args=(fit, d, n, theirs))
    process.start()
    result = ours.recv()
    process.join()
    return result


def expanded(quick):
    d, n = (8, 7_500) if quick else (10, 7_500)
    dense_time, dense_memory, expected = in_own_process(fit_dense, d, n)
    our_time, our_memory, prediction = in_own_process(fit_ours, d, n)
    print(f"\nExpandedLR, d = {d}, {n:,} rows, mixture1")
    print(f"{'':<28}{'seconds':>10}{'peak MB added':>15}")
    print(f"{'dense expansion + RidgeCV':<28}{dense_time:>10.2f}{dense_memory:>15.0f}")
    print(f"{'missfit.ExpandedLR':<28}{our_time:>10.3f}{our_memory:>15.0f}")
    gap = np.abs(prediction - expected).max() / expected.std()
    print(
        f"ratio: {dense_time / our_time:,.0f} times faster, "
        f"{dense_memory / max(our_memory, 1):,.0f} times less memory; predictions "
        f"differ by {gap:.1e} standard deviations at most"
    )


def em():
    X, y = published_data("mixture1", 10, 0, 100_000)
    X, y = X[:75_000], y[:75_000]
    one = seconds(lambda: IterativeImputer(max_iter=1).fit(X), 3)
    whole = seconds(lambda: EMLR().fit(X, y), 3)
    mice = seconds(
        lambda: make_pipeline(IterativeImputer(), LinearRegression()).fit(X, y)
    )
    print("\nEMLR, 75,000 x 10, mixture1")
    print(f"one IterativeImputer iteration     {one:8.3f} s")
    print(f"IterativeImputer + LinearRegression{mice:8.3f} s")
    print(f"missfit.EMLR                       {whole:8.3f} s")
    print(f"ratio to one iteration: {whole / one:.2f}")
    print("\nEMLR after the pass over the rows, 1,024 patterns")
    print(f"{'rows':>12}{'moments':>12}{'EM':>12}{'EM steps':>10}")
    model = published("mixture1", 10)
    for n in (75_000, 300_000, 1_200_000):
        X, y = model.sample(n, random_state=0)
        pass_time = seconds(lambda X=X, y=y: PatternMoments.from_data(X, y))
        moments = PatternMoments.from_data(X, y)
        fit = EMLR()
        em_time = seconds(lambda m=moments, f=fit: f.fit_moments(m), 3)
        print(f"{n:>12,}{pass_time:>10.3f} s{em_time:>10.3f} s{fit.n_iter_:>10}")


def predict():
    model = published("mixture1", 10)
    X, y = model.sample(20_000, random_state=0)
    many, _ = model.sample(1_000_000, random_state=1)
    print("\npredict, d = 10, 1,024 patterns")
    print(f"{'':<26}{'million rows / s':>18}{'one row':>12}")
    for predictor in (
        ConstantImputedLR(),
        FactorizedLR(alphas=(1.0,)),
        FactorizedLR(order=3, alphas=(1.0,)),
        ExpandedLR(alphas=(1.0,)),
        EMLR(),
    ):
        predictor.fit(X, y)
        rate = 1 / seconds(lambda p=predictor: p.predict(many), 3)
        single = seconds(lambda p=predictor: p.predict(many[:1]), 200)
        name = str(predictor).replace("alphas=(1.0,)", "").replace("(, ", "(")
        print(f"{name:<26}{rate:>18.1f}{single * 1e3:>9.2f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the dense fit at d = 8")
    args = parser.parse_args()
    em()
    predict()
    expanded(args.quick)


if __name__ == "__main__":
    main()
