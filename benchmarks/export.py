"""Exported models against `predict`, and skl2onnx on what people use, in one table.

Every exportable predictor on simulated and real tables: the largest difference on
random rows (half with patterns that were seen, half with random ones, a row of nothing
among them) in standard deviations of y, for inputs of float64 and float32; the size of
the file; and the median time of one row in onnxruntime on one thread. skl2onnx is asked
to convert the usual alternatives, where it is installed.

    python benchmarks/export.py [--rows 100000] [FILE.csv ...]

The files have numbers alone, the target in the last column.
"""

import argparse
import time
import warnings
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import onnxruntime
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import missfit
from missfit.moments.patterns import group_rows

warnings.simplefilter("ignore")
BATCH = 1000
SETTINGS = ("mixture1", "mixture3", "selfmasked")


def predictors():
    """Return what is exported: every predictor of the library that can be."""
    return [
        missfit.ConstantImputedLR(),
        missfit.FactorizedLR(),
        missfit.ExpandedLR(min_rows=30, fallback=missfit.ConstantImputedLR()),
        missfit.EMLR(),
        missfit.ConditionalImputedLR(),
        missfit.PatternMixtureLR(random_state=0),
        missfit.PartialPooling(missfit.ConditionalImputedLR()),
        missfit.MICELR(),
        missfit.SelfMaskedLR(),
        HistGradientBoostingRegressor(random_state=0),
        missfit.AutoRegressor(random_state=0),
    ]


def alternatives():
    """Return what skl2onnx is asked to convert."""
    return [
        make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), RidgeCV()),
        make_pipeline(SimpleImputer(), StandardScaler(), RidgeCV()),
        RandomForestRegressor(50, min_samples_leaf=5, random_state=0),
        HistGradientBoostingRegressor(random_state=0),
    ]


def tables(paths, n_features, n_rows):
    for setting in SETTINGS:
        law = missfit.simulate.published(setting, n_features)
        yield setting, *law.sample(n_rows, random_state=0)
    for path in map(Path, paths):
        table = pd.read_csv(path).to_numpy(float)
        yield path.name.split(".")[0], table[:, :-1], table[:, -1]


def random_rows(rng, X, n):
    """Rows of wide values with patterns seen, random patterns and nothing at all."""
    d = X.shape[1]
    centre, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    rows = centre + 2 * spread * rng.standard_normal((n, d))
    seen = group_rows(np.isnan(X)).patterns
    hidden = seen[rng.integers(len(seen), size=n)]
    at_random = rng.random((n, d)) < rng.random((n, 1))
    hidden[n // 2 :] = at_random[n // 2 :]
    hidden[:: n // 10] = True
    return np.where(hidden, np.nan, rows)


def session(content):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        content, options, providers=["CPUExecutionProvider"]
    )


def run_all(run, name, Z):
    parts = [
        run.run(None, {name: Z[i : i + BATCH]})[0] for i in range(0, len(Z), BATCH)
    ]
    return np.concatenate(parts).reshape(len(Z))


def milliseconds(run, name, Z, repeats=300):
    """Return the median time of one row."""
    times = []
    for k in range(repeats):
        start = time.perf_counter()
        run.run(None, {name: Z[k % 50 : k % 50 + 1]})
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def ours(model, Z, spread):
    """Return the differences of both types, the size and the time of one row."""
    path, gaps = Path(mkdtemp()) / "model.onnx", []
    for dtype in ("float32", "float64"):
        missfit.export(model, path, dtype=dtype)
        run, rows = session(str(path)), Z.astype(dtype)
        found = run_all(run, "X", rows)
        gaps.append(np.abs(found - model.predict(rows.astype(float))).max() / spread)
    return gaps[::-1], path.stat().st_size, milliseconds(run, "X", rows)


def theirs(model, Z, spread):
    """Return the same of skl2onnx, or why there is nothing."""
    try:
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    except ImportError:
        return "skl2onnx is not installed"
    gaps, last, d = [], None, Z.shape[1]
    for dtype, kind in (("float32", FloatTensorType), ("float64", DoubleTensorType)):
        rows = Z.astype(dtype)
        try:
            onnx = convert_sklearn(model, initial_types=[("X", kind([None, d]))])
            content = onnx.SerializeToString()
            run = session(content)
            found = run_all(run, "X", rows)
        except Exception as error:  # of skl2onnx or of onnxruntime, of any type
            gaps.append(type(error).__name__)
            continue
        gaps.append(np.abs(found - model.predict(rows)).max() / spread)
        last = len(content), milliseconds(run, "X", rows)
    if last is None:
        return f"not converted ({gaps[0]})"
    return gaps[::-1], *last


def line(table, name, found):
    if isinstance(found, str):
        return f"| {table} | {name} | {found} | | | |"
    gaps, size, ms = found
    told = [gap if isinstance(gap, str) else f"{gap:.0e}" for gap in gaps]
    return f"| {table} | {name} | {' | '.join(told)} | {size / 1e3:,.0f} | {ms:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--train", type=int, default=3000)
    parser.add_argument("--only", default="")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    print("| table | model | float64 | float32 | kB | ms a row |")
    print("|---|---|---|---|---|---|")
    for name, X, y in tables(arguments.files, arguments.features, arguments.train):
        Z = random_rows(np.random.default_rng(0), X, arguments.rows)
        for model in predictors():
            title = type(model).__name__
            if arguments.only in title:
                model.fit(X, y)
                print(line(name, title, ours(model, Z, y.std())), flush=True)
        for model in alternatives():
            steps = getattr(model, "named_steps", {"": model}).values()
            title = " + ".join(type(step).__name__ for step in steps)
            if not arguments.only:
                model.fit(X, y)
                found = theirs(model, Z, y.std())
                print(line(name, f"skl2onnx: {title}", found), flush=True)


if __name__ == "__main__":
    main()
