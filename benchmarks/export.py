"""Exported models against `predict`, and skl2onnx on what people use, in one table.

Every exportable predictor, of numbers and of classes, on simulated and real tables: the
largest difference on random rows (half with patterns that were seen, half with random
ones, rows of nothing among them), for inputs of float64 and float32; the size of the
file; and the time of one row in onnxruntime on one thread, the median of 50 rows.
Differences are in standard deviations of y, or in probability. skl2onnx is asked to
convert the usual alternatives, where it is installed (pip install skl2onnx).

    python benchmarks/export.py [--only EMLR] [--table star] [FILE.csv ...]

The files have numbers alone, the target in the last column; one of at most 10 whole
numbers is a class. 2,000 rows of each are fitted: a file is no less exact with more.
"""

import argparse
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
import pandas as pd
from header import header
from sklearn.base import is_classifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import missfit
from missfit.moments.patterns import group_rows

warnings.simplefilter("ignore")
BATCH = 1000
SETTINGS = ("mixture1", "mixture3", "selfmasked")
MOST_CLASSES = 10
# One row is run so often, and its fastest run counts: others wait for the machine.
RUNS_OF_A_ROW = 20


class Table(NamedTuple):
    """A table to fit, and rows to compare predictions on."""

    name: str
    X: Any
    y: Any
    rows: Any

    @property
    def has_classes(self):
        """Whether the target is a class."""
        return np.issubdtype(self.y.dtype, np.integer)

    @property
    def unit(self):
        """Return the unit of differences: a deviation of y, or a probability."""
        return 1.0 if self.has_classes else self.y.std()


class Found(NamedTuple):
    """What is said of a model: numbers, or in their place words that say why not."""

    gaps: dict[str, Any]
    size: Any = ""
    ms: Any = ""
    n_rows: int = 0


def regressors():
    """Return what is exported: every regressor of the library that can be."""
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


def classifiers():
    """Return every classifier of the library that can be exported."""
    return [
        missfit.ConditionalImputedLogistic(),
        missfit.EMProbit(),
        missfit.PatternClassifier(missfit.EMLR()),
        missfit.PatternProbit(missfit.EMLR()),
        HistGradientBoostingClassifier(random_state=0),
        missfit.AutoClassifier(random_state=0),
    ]


def alternatives(has_classes):
    """Return what skl2onnx is asked to convert."""
    last = LogisticRegression if has_classes else RidgeCV
    forest = RandomForestClassifier if has_classes else RandomForestRegressor
    boosting = (HistGradientBoostingRegressor, HistGradientBoostingClassifier)
    return [
        make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), last()),
        make_pipeline(SimpleImputer(), StandardScaler(), last()),
        forest(50, max_leaf_nodes=31, random_state=0),
        boosting[has_classes](random_state=0),
    ]


def tables(arguments):
    """Yield the simulated tables, with numbers and with classes, and those of files."""
    n, n_rows = arguments.train, arguments.rows
    for setting in SETTINGS:
        law = missfit.simulate.published(setting, arguments.features)
        X, y = law.sample(n, random_state=0)
        yield Table(setting, X, y, random_rows(X, n_rows))
    X, y = missfit.simulate.Probit(law, 1.0).sample(n, random_state=0)
    yield Table(f"{setting}, classes", X, y, random_rows(X, n_rows))
    for path in map(Path, arguments.files):
        values = pd.read_csv(path).to_numpy(float)
        values = values[np.random.default_rng(0).permutation(len(values))[:n]]
        X, y = values[:, :-1], values[:, -1]
        if (y % 1 == 0).all() and len(np.unique(y)) <= MOST_CLASSES:
            y = y.astype(int)
        yield Table(path.name.split(".")[0], X, y, random_rows(X, n_rows))


def random_rows(X, n):
    """Rows of wide values with patterns seen, random patterns and nothing at all."""
    rng, d = np.random.default_rng(0), X.shape[1]
    centre, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    rows = np.nan_to_num(centre + 2 * spread * rng.standard_normal((n, d)))
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


def run_all(run, output, Z):
    parts = [
        run.run([output], {"X": Z[i : i + BATCH]})[0] for i in range(0, len(Z), BATCH)
    ]
    return np.concatenate(parts)


def milliseconds(run, output, Z):
    """Return the median over 50 rows of the time of one row."""
    times = np.empty((50, RUNS_OF_A_ROW))
    for i, k in np.ndindex(times.shape):
        start = time.perf_counter()
        run.run([output], {"X": Z[i : i + 1]})
        times[i, k] = time.perf_counter() - start
    return 1e3 * float(np.median(times.min(axis=1)))


def predicted(model, Z):
    """Return what a model says of rows: numbers, or probabilities of classes."""
    return model.predict_proba(Z) if is_classifier(model) else model.predict(Z)


def gap(found, expected, unit):
    return np.abs(found.reshape(expected.shape) - expected).max() / unit


def ours(model, table):
    """Return the differences of both types, the size and the time of one row."""
    Z = table.rows
    output = "probabilities" if is_classifier(model) else "prediction"
    gaps, run, size = {}, None, 0
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        for dtype in ("float32", "float64"):
            missfit.export(model, path, dtype=dtype)
            run, rows = session(str(path)), Z.astype(dtype)
            found = run_all(run, output, rows)
            expected = predicted(model, rows.astype(float))
            gaps[dtype] = gap(found, expected, table.unit)
            size = path.stat().st_size
    return Found(gaps, size, milliseconds(run, output, Z), len(Z))


def theirs(model, table):
    """Return the same of skl2onnx, or why there is nothing."""
    gaps, last = {}, ("", "")
    for dtype in ("float32", "float64"):
        rows = table.rows.astype(dtype)
        if dtype == "float64" and "Forest" in type(model).__name__:
            gaps[dtype] = "not tried: over a minute"  # by skl2onnx 1.20
            continue
        try:
            content = converted(model, dtype, rows.shape[1])
        except ImportError:
            gaps[dtype] = "skl2onnx is not installed"
            continue
        except Exception:  # of skl2onnx, of any type
            gaps[dtype] = "not converted"
            continue
        try:
            run = session(content)
            output = run.get_outputs()[-1].name
            found = run_all(run, output, rows)
        except Exception:  # of onnxruntime
            gaps[dtype] = "not run"
            continue
        gaps[dtype] = gap(found, predicted(model, rows.astype(float)), table.unit)
        last = len(content), milliseconds(run, output, rows)
    return Found(gaps, *last, len(table.rows))


def converted(model, dtype, n_features):
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    kind = {"float32": FloatTensorType, "float64": DoubleTensorType}[dtype]
    options = {"zipmap": False} if is_classifier(model) else None
    types = [("X", kind([None, n_features]))]
    return convert_sklearn(
        model, initial_types=types, options=options
    ).SerializeToString()


def line(table, name, found):
    told = [
        one if isinstance(one, str) else f"{one:.0e}"
        for one in (found.gaps["float64"], found.gaps["float32"])
    ]
    size = f"{found.size / 1e3:,.0f}" if found.size else ""
    ms = f"{found.ms:.2f}" if found.ms else ""
    cells = [table.name, name, *told, size, ms, f"{found.n_rows:,}"]
    return f"| {' | '.join(cells)} |"


def title_of(model):
    """Return the steps of a model by their names, and the base that a default chose."""
    steps = getattr(model, "named_steps", {"": model}).values()
    names = [
        type(step).__name__
        + (" with indicators" if getattr(step, "add_indicator", False) else "")
        for step in steps
    ]
    if hasattr(model, "base_"):
        names[0] += f" ({type(model.base_).__name__}, {len(model.parts_)} of trees)"
    return " + ".join(names)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=10, help="of simulated tables")
    parser.add_argument("--train", type=int, default=2000)
    parser.add_argument("--only", default="", help="a part of a model's name")
    parser.add_argument("--table", default="", help="a part of a table's name")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    start = time.process_time()
    print(header())
    print("| table | model | float64 | float32 | kB | ms a row | rows |")
    print("|---|---|---|---|---|---|---|")
    for table in tables(arguments):
        if arguments.table not in table.name:
            continue
        for model in classifiers() if table.has_classes else regressors():
            if arguments.only in type(model).__name__:
                model.fit(table.X, table.y)
                print(line(table, title_of(model), ours(model, table)), flush=True)
        for model in alternatives(table.has_classes):
            title = f"skl2onnx: {title_of(model)}"
            if arguments.only in title:
                model.fit(table.X, table.y)
                print(line(table, title, theirs(model, table)), flush=True)
    print(f"{time.process_time() - start:.0f} seconds of one core")


if __name__ == "__main__":
    main()
