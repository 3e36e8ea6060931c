"""Exported models, run as a user of ONNX runs them, and rows that try them."""

import numpy as np
import pytest

import missfit
from missfit.moments.patterns import group_rows

onnxruntime = pytest.importorskip("onnxruntime")


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"]
    )


def outputs(model, path, X, dtype="float64", batch=2000):
    """Export a model of arrays, and return what the file says of rows, by name."""
    missfit.export(model, path, dtype=dtype)
    run = session(path)
    names = [one.name for one in run.get_outputs()]
    parts = [
        run.run(None, {"X": X[i : i + batch].astype(dtype)})
        for i in range(0, len(X), batch)
    ]
    return dict(zip(names, map(np.concatenate, zip(*parts, strict=True)), strict=True))


def trying_rows(rng, X, n):
    """Rows of wide values: patterns seen, random ones, one value, no value at all."""
    d = X.shape[1]
    centre, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    rows = np.nan_to_num(centre + 3 * spread * rng.standard_normal((n, d)))
    seen = group_rows(np.isnan(X)).patterns
    hidden = seen[rng.integers(len(seen), size=n)]
    at_random = rng.random((n, d)) < rng.random((n, 1))
    hidden[n // 2 :] = at_random[n // 2 :]
    hidden[0] = True
    hidden[1] = False
    hidden[2] = np.arange(d) != rng.integers(d)
    return np.where(hidden, np.nan, rows)
