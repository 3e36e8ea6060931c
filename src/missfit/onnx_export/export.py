"""Write a fitted model as an ONNX file that predicts the same, whatever is missing."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from missfit.estimators import ConformalClassifier, ConformalRegressor, TableEncoder
from missfit.onnx_export import (  # noqa: F401 (their models have graphs from here on)
    auto,
    chained,
    pattern_probit,
    scikit_learn,
    self_masking,
    trees,
)
from missfit.onnx_export.classes import label_array, labels, probabilities
from missfit.onnx_export.encoder import encoded
from missfit.onnx_export.graph import Graph
from missfit.onnx_export.intervals import Seen, class_sets, interval
from missfit.onnx_export.model_bytes import (
    Input,
    Output,
    imported_onnx,
    model_bytes,
)
from missfit.onnx_export.problems import ExportError
from missfit.onnx_export.rows import Rows
from missfit.onnx_export.targets import predicted
from missfit.workflow.model_file import TableModel
from missfit.writing import check_writable, whole_file

__all__ = ["ExportError", "OnnxModel", "export", "exported", "onnx_model"]

DTYPES = ("float64", "float32")
FORMAT, VERSION = "missfit onnx", 1
ALL_KNOWN = "those of the model for every combination of missing columns"
SOME_KNOWN = (
    "those of the model for combinations of missing columns seen at fit and for those "
    "with one column more; for others intervals are infinite and sets hold all classes"
)


class OnnxModel(NamedTuple):
    """The content of an ONNX file, and what a user of it should know."""

    content: bytes
    schema: dict[str, Any]


def export(
    model: Any,
    path: str | Path,
    *,
    dtype: str = "float64",
    schema: str | Path | None = None,
) -> None:
    """Write a fitted model as an ONNX file, which needs neither missfit nor Python.

    The file predicts what ``model.predict`` does, for every missing pattern, seen at
    fit or not. It runs wherever onnxruntime does.

    Parameters
    ----------
    model : fitted estimator, Pipeline or TableModel
        A predictor of missfit, a pipeline of a `TableEncoder` and a predictor, or what
        `missfit.fit_table` and `missfit.load_model` return. Networks are refused.
    path : str or Path
        The file to write, such as ``"model.onnx"``. It appears whole or not at all.
    dtype : {"float64", "float32"}
        The type of the inputs that hold numbers. The graph computes in float64 either
        way, and its outputs are float64.
    schema : str or Path, optional
        A JSON file to write beside it, with the names, types and levels of the inputs
        and the outputs. The ONNX file holds the same text in its metadata, under the
        key ``missfit.schema``.

    Notes
    -----
    Inputs: an array "X" of shape (rows, features), NaN where missing; or, where the
    model reads a table, one input of shape (rows, 1) for each column: numbers with NaN
    (dates as days since 1970-01-01, truth values as 0 and 1), and texts, of which ""
    and "NA" are missing.

    Outputs: "prediction" of shape (rows,), or (rows, targets) where there are several;
    "std" where the predictor has a standard deviation; "lower" and "upper" where it has
    intervals; "label" and "probabilities" of a classifier, and "set" where it has sets
    of classes. Where a table has more than 10 variables, an interval is infinite and a
    set holds all classes for a pattern that lacks more than one variable beside those
    of every pattern seen at fit; the schema says so under "intervals".

    Examples
    --------
    >>> import numpy as np, tempfile, missfit
    >>> X, y = missfit.simulate.published("mixture1", 4).sample(300, random_state=0)
    >>> model = missfit.EMLR().fit(X, y)
    >>> path = Path(tempfile.mkdtemp()) / "model.onnx"
    >>> export(model, path)
    >>> path.stat().st_size < 10_000
    True
    """
    exported(model, path, dtype=dtype, schema=schema)


def exported(
    model: Any,
    path: str | Path,
    *,
    dtype: str = "float64",
    schema: str | Path | None = None,
) -> OnnxModel:
    """Write a fitted model as `export` does, and return what was written."""
    imported_onnx()
    for place in filter(None, (path, schema)):
        check_writable(place)
    found = onnx_model(model, dtype=dtype)
    with whole_file(path) as part:
        part.write_bytes(found.content)
    if schema is not None:
        text = json.dumps(found.schema, indent=2, ensure_ascii=False)
        with whole_file(schema) as part:
            part.write_text(f"{text}\n")
    return found


def onnx_model(model: Any, *, dtype: str = "float64") -> OnnxModel:
    """Return the content of an ONNX file for a fitted model, and its schema.

    Parameters
    ----------
    model, dtype
        As in `export`.
    """
    from missfit import __version__

    if dtype not in DTYPES:
        raise ValueError(f"dtype={dtype!r}; choose {' or '.join(map(repr, DTYPES))}.")
    source = _source(model)
    graph = Graph()
    inputs, described, rows = _inputs(graph, source, dtype)
    taken = {one.name for one in inputs}
    outputs = [_free(one, taken) for one in _outputs(source, rows)]
    about = {
        "format": FORMAT,
        "version": VERSION,
        "missfit": __version__,
        **source.said,
        "inputs": described,
        "outputs": [_output_said(one) for one in outputs],
    }
    if is_classifier(source.predictor):
        about["classes"] = label_array(source.predictor.classes_).tolist()
    if isinstance(source.predictor, (ConformalClassifier, ConformalRegressor)):
        about["intervals"] = ALL_KNOWN if source.seen(rows).are_few else SOME_KNOWN
    text = json.dumps(about, ensure_ascii=False)
    content = model_bytes(graph, inputs, outputs, {"missfit.schema": text})
    return OnnxModel(content, about)


class _Source(NamedTuple):
    """A model taken apart: what encodes a table, what predicts, what it has seen."""

    encoder: TableEncoder | None
    predictor: Any
    patterns: np.ndarray  # of the variables, as far as they are known
    said: dict[str, str]  # the name of the predictor, and of the target

    def seen(self, rows: Rows) -> Seen:
        """Return the patterns known, and the variable of each column of rows."""
        if self.encoder is not None:
            return Seen(self.patterns, self.encoder.variables_)
        return Seen(self.patterns, np.arange(rows.n_features))


def _source(model: Any) -> _Source:
    if isinstance(model, TableModel):
        seen = model.missingness.patterns(len(model.columns))
        said = {"predictor": model.predictor, "target": model.target}
        return _Source(model.encoder, model.regressor, seen, said)
    check_is_fitted(model)
    encoder: Any = None
    if isinstance(model, Pipeline) and isinstance(model[0], TableEncoder):
        encoder, rest = model[0], model[1:]
        model = rest[0] if len(rest) == 1 else rest
    d = len(encoder.kinds_) if encoder is not None else model.n_features_in_
    said = {"predictor": type(model).__name__}
    return _Source(encoder, model, np.zeros((0, d), dtype=bool), said)


def _inputs(graph: Graph, source: _Source, dtype: str):
    """Return the inputs, what is said of them, and the rows that they make."""
    if source.encoder is not None:
        return encoded(graph, source.encoder, dtype)
    model = source.predictor
    d = int(model.n_features_in_)
    x = graph.input("X")
    x = x if dtype == "float64" else x.as_type("float64")
    said: dict[str, Any] = {"name": "X", "type": dtype, "shape": ["rows", d]}
    if hasattr(model, "feature_names_in_"):
        said["columns"] = [str(name) for name in model.feature_names_in_]
    return [Input("X", dtype, d)], [said | {"missing": ["NaN"]}], Rows(x, d)


def _outputs(source: _Source, rows: Rows) -> list[Output]:
    model = source.predictor
    if is_classifier(model):
        return _class_outputs(model, rows, source.seen(rows))
    conformal = isinstance(model, ConformalRegressor)
    found = predicted(model.estimator_ if conformal else model, rows)
    width = _n_targets(model, rows.n_features)
    outputs = [Output("prediction", _shaped(found.mean, width), "f", width)]
    if conformal:
        ends = interval(model, rows, found.mean, source.seen(rows))
        return [*outputs, Output("lower", ends.lower), Output("upper", ends.upper)]
    if found.variance is None:
        return outputs
    spread = rows.graph.node("Sqrt", found.variance)
    return [*outputs, Output("std", _shaped(spread, width), "f", width)]


def _class_outputs(model: Any, rows: Rows, seen: Seen) -> list[Output]:
    shares, n_classes = probabilities(model, rows), len(model.classes_)
    kind = label_array(model.classes_).dtype.kind
    outputs = [
        Output("label", labels(model.classes_, shares), kind),
        Output("probabilities", shares, "f", n_classes),
    ]
    if isinstance(model, ConformalClassifier):
        sets = class_sets(model, rows, shares, seen)
        outputs.append(Output("set", sets, "b", n_classes))
    return outputs


def _free(one: Output, taken: set[str]) -> Output:
    """Return an output with a name that no column of the table has."""
    while one.name in taken:
        one = one._replace(name=f"{one.name}_")
    return one


def _n_targets(model: Any, n_features: int) -> int:
    """Return the number of targets, 0 where predictions have no axis for them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn asks for the names of the fit
        one = np.asarray(model.predict(np.zeros((1, n_features))))
    return one.shape[1] if one.ndim == 2 else 0


def _shaped(value: Any, width: int) -> Any:
    return value if width else value.reshaped(-1)


def _output_said(one: Output) -> dict[str, Any]:
    types = {"f": "float64", "i": "int64", "b": "bool", "O": "string"}
    shape = ["rows", one.width] if one.width else ["rows"]
    return {"name": one.name, "type": types[one.kind], "shape": shape}
