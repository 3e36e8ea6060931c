"""Networks from chunks: the fit in memory where all rows fit, nearly as good beyond."""

import numpy as np
import pytest

from conftest import hide
from missfit import MLP, NeuMiss

pytest.importorskip("jax")
pytest.importorskip("optax")
stream = pytest.importorskip("missfit.networks.stream")


def rows(rng, n=12_000, d=4):
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 1))
    y = np.abs(X[:, 0]) + X[:, 1] * X[:, 2] / 2 + X.sum(axis=1) + rng.normal(size=n) / 3
    return hide(rng, X, 0.2), y


def chunks_of(size, *columns):
    for start in range(0, len(columns[0]), size):
        yield tuple(column[start : start + size] for column in columns)


def test_a_short_stream_is_the_fit_in_memory(rng):
    X, y = rows(rng, n=400)
    weight = rng.integers(0, 3, 400).astype(float)
    model = MLP(4, weight_decay=0.1, random_state=0)
    ours = model.fit(chunks_of(90, X, y, weight)).predict(X)
    theirs = model.fit(X, y, weight).predict(X)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(MLP(10, weight_decay=1e-3, random_state=0), id="MLP"),
        pytest.param(
            NeuMiss(weight_decay=1e-3, random_state=0),
            id="NeuMiss",
            marks=pytest.mark.slow,  # 9 seconds; a stream is read alike for both
        ),
    ],
)
@pytest.mark.parametrize("arranged", ["as it came", "sorted"])
def test_a_long_stream_scores_within_0_005_of_memory(model, arranged, rng, monkeypatch):
    monkeypatch.setattr(stream, "HELD_ROWS", 5000)
    monkeypatch.setattr("missfit.estimators.streams.CHUNK_DOUBLES", 4000)
    X, y = rows(rng, n=24_000)
    X, y, new, truth = X[:12_000], y[:12_000], X[12_000:], y[12_000:]
    memory = model.fit(X, y).score(new, truth)
    if arranged == "sorted":
        order = np.argsort(y)
        X, y = X[order], y[order]
    held = model.fit(lambda: chunks_of(500, X, y)).score(new, truth)
    assert held > memory - 0.005


def test_an_iterator_that_can_be_read_only_once_is_refused(rng, monkeypatch):
    monkeypatch.setattr(stream, "HELD_ROWS", 100)
    X, y = rows(rng, n=300)
    with pytest.raises(TypeError, match=r"300 rows, more than the 100 that are held"):
        MLP(4, weight_decay=0.1).fit(chunks_of(90, X, y))


def test_dask_in_dask_out(rng):
    da = pytest.importorskip("dask.array")
    X, y = rows(rng, n=400)
    lazy = da.from_array(X, chunks=(150, 4))
    model = MLP(4, weight_decay=0.1, random_state=0).fit(lazy, y)
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(X))
    theirs = MLP(4, weight_decay=0.1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))
