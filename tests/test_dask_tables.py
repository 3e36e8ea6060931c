"""Dask collections, on threads, fit and predict the same as the table in memory."""

import copy

import numpy as np
import pytest

from chunked_rows import assert_same, every, rows
from missfit import EMLR, ExpandedLR

DEALT = pytest.mark.filterwarnings("ignore:the number of rows is not known")


@DEALT
@every
def test_dask_arrays_and_frames_fit_as_the_table_in_memory(model, rng):
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X, y = rows(rng)
    weight = rng.integers(0, 3, len(X)).astype(float)
    expected = copy.deepcopy(model).fit(X, y, weight)
    lazy = da.from_array(X, chunks=(400, 2))  # cut by columns as well
    ours = copy.deepcopy(model).fit(lazy, da.from_array(y, chunks=333), weight)
    assert_same(ours, expected, X, y)
    if hasattr(expected, "cv_scores_"):  # known chunks: the folds of memory
        assert ours.cv_scores_ == pytest.approx(expected.cv_scores_, abs=1e-9)
    predicted = ours.predict(lazy)
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), ours.predict(X))

    frame = pandas.DataFrame(X, columns=list("abcd")).assign(y=y, w=weight)
    lazy = dd.from_pandas(frame, npartitions=7)
    named = copy.deepcopy(model).fit(lazy, "y", "w")
    assert_same(named, expected_named(model, frame), frame[list("abcd")], y)
    series = copy.deepcopy(model).fit(lazy[list("abcd")], lazy["y"], lazy["w"])
    np.testing.assert_array_equal(series.pattern_count_, named.pattern_count_)
    predicted = named.predict(lazy)
    assert (predicted.compute().index == frame.index).all()
    np.testing.assert_array_equal(
        predicted.compute(), named.predict(frame[list("abcd")])
    )


def expected_named(model, frame):
    """The model with the folds of 7 partitions of 429 or 428 rows, dealt in turn."""
    model = copy.deepcopy(model)
    if hasattr(model, "cv") and len(model.alphas) > 1:
        sizes = [len(part) for part in np.array_split(np.arange(len(frame)), 7)]
        fold = np.repeat(np.arange(7), sizes) % model.cv
        model.cv = [
            (np.flatnonzero(fold != k), np.flatnonzero(fold == k))
            for k in range(model.cv)
        ]
    return model.fit(frame[list("abcd")], frame["y"], frame["w"])


def test_relative_weights_are_refused_as_in_memory(rng):
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X, y = rows(rng)
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(y=y, w=1 / len(X))
    lazy = dd.from_pandas(frame, npartitions=3)
    sources = [
        (lazy, "y", "w"),
        (lazy[list("abcd")], lazy["y"], lazy["w"]),
        (da.from_array(X, chunks=(500, 4)), y, frame["w"].to_numpy()),
    ]
    for source in sources:
        with pytest.raises(ValueError, match=r"sums to 1 over 3000 rows"):
            EMLR().fit(*source)


def test_a_partition_is_made_once_also_where_rows_have_weights(rng):
    dask = pytest.importorskip("dask")
    dd = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    made = []

    def part(k):
        made.append(k)
        X, y = rows(np.random.default_rng(k))
        return pandas.DataFrame(X, columns=list("abcd")).assign(y=y, w=1.0)

    like = part(0).iloc[:0]
    lazy = dd.from_delayed([dask.delayed(part)(k) for k in range(3)], meta=like)
    made.clear()
    with dask.config.set(scheduler="sync"):
        EMLR().fit(lazy, "y", "w")
    assert sorted(made) == [0, 1, 2]


def test_few_partitions_of_unknown_size_are_counted_first(rng):
    da = pytest.importorskip("dask.array")
    X, y = rows(rng)
    table = da.from_array(np.column_stack([X, y]), chunks=(1500, -1))
    table = table[table[:, -1] > y.min()]  # sizes are not known any more
    model = ExpandedLR().fit(table[:, :4], table[:, 4])
    kept = y > y.min()
    expected = ExpandedLR().fit(X[kept], y[kept])
    assert model.cv_scores_ == pytest.approx(expected.cv_scores_, abs=1e-9)


def test_several_targets_and_deviations_from_dask(rng):
    da = pytest.importorskip("dask.array")
    X, y = rows(rng)
    Y = np.column_stack([y, -2 * y])
    lazy = da.from_array(X, chunks=(700, 4))
    model = EMLR().fit(lazy, da.from_array(Y, chunks=(700, 1)))
    assert_same(model, EMLR().fit(X, Y), X, Y)
    mean, std = model.predict(lazy, return_std=True)
    assert mean.shape == std.shape == (3000, 2)
    expected = model.predict(X, return_std=True)
    np.testing.assert_array_equal(mean.compute(), expected[0])
    np.testing.assert_array_equal(std.compute(), expected[1])


def test_mistakes_with_dask_say_what_to_give(rng):
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X, y = rows(rng)
    lazy = da.from_array(X, chunks=(700, 4))
    with pytest.raises(ValueError, match="y is None"):
        EMLR().fit(lazy)
    with pytest.raises(ValueError, match="y has 10 rows and X 3000"):
        EMLR().fit(lazy, y[:10])
    with pytest.raises(ValueError, match="names a column, but X is a Dask array"):
        EMLR().fit(lazy, "y")
    frame = dd.from_pandas(pandas.DataFrame({"a": y, "y": y}), npartitions=3)
    with pytest.raises(ValueError, match="no column 'z'"):
        EMLR().fit(frame, "z")
    with pytest.raises(TypeError, match="y is ndarray; beside a Dask dataframe"):
        EMLR().fit(frame, y)
    with pytest.raises(ValueError, match="X has 3 partitions and y 2"):
        EMLR().fit(frame[["a"]], frame["y"].repartition(npartitions=2))
    model = EMLR().fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but the model has 4"):
        model.predict(lazy[:, :2])
