"""Rows in chunks fit and predict the same as the table in memory."""

import copy
import gc
import subprocess
import sys
import threading

import numpy as np
import pytest

from chunked_rows import assert_same, chunks_of, every, rows
from missfit import (
    EMLR,
    MICELR,
    AutoRegressor,
    ConstantImputedLR,
    ExpandedLR,
    FactorizedLR,
    PatternMoments,
)
from missfit.estimators import streams
from missfit.moments.rows import Rows

# --- fit ------------------------------------------------------------------------------


def test_relative_weights_are_refused_in_chunks_as_in_memory(rng):
    X, y = rows(rng)
    weight = np.full(len(X), 1 / len(X))
    with pytest.raises(ValueError, match=r"sums to 1 over 3000 rows"):
        EMLR().fit(chunks_of(137, X, y, weight))
    EMLR().fit(chunks_of(137, X, y, weight * len(X)))


@every
def test_a_stream_fits_as_the_table_in_memory(model, rng):
    X, y = rows(rng)
    weight = rng.integers(0, 3, len(X)).astype(float)
    weight[:300] = 0.0  # whole chunks weigh nothing
    expected = copy.deepcopy(model).fit(X, y, weight)
    model = copy.deepcopy(model).fit(chunks_of(137, X, y, weight))
    assert_same(model, expected, X, y)
    if hasattr(expected, "cv_scores_"):  # a short stream: the folds of memory
        assert model.cv_scores_ == pytest.approx(expected.cv_scores_, abs=1e-9)


@every
def test_a_parquet_file_fits_as_the_frame_in_memory(model, rng, tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(streams, "CHUNK_DOUBLES", 3000)
    monkeypatch.setattr("missfit.tables.chunks.CHUNK_DOUBLES", 3000)
    X, y = rows(rng)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    expected = copy.deepcopy(model).fit(frame, y)
    frame.assign(target=y).to_parquet(tmp_path / "t.parquet", row_group_size=500)
    model = copy.deepcopy(model).fit(tmp_path / "t.parquet", "target")
    assert list(model.feature_names_in_) == list("abcd")
    assert_same(model, expected, frame, y)
    if hasattr(expected, "cv_scores_"):  # the number of rows is known: same folds
        assert model.cv_scores_ == pytest.approx(expected.cv_scores_, abs=1e-9)
    predicted = list(model.predict(tmp_path / "t.parquet"))
    assert len(predicted) > 3
    np.testing.assert_allclose(
        np.concatenate(predicted), model.predict(frame), rtol=1e-13
    )  # rows laid out otherwise in memory sum in another order


def test_a_long_stream_is_dealt_by_chunk_and_says_so(rng, monkeypatch):
    monkeypatch.setattr(streams, "CHUNK_DOUBLES", 1000)  # 200 rows
    X, y = rows(rng)
    with pytest.warns(UserWarning, match="dealt by chunk"):
        model = ExpandedLR().fit(chunks_of(200, X, y))
    fold = np.arange(len(X)) // 200 % 3
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    expected = ExpandedLR(cv=splits).fit(X, y)
    assert model.cv_scores_ == pytest.approx(expected.cv_scores_, abs=1e-9)
    assert_same(model, expected, X, y)


def test_a_producer_may_fill_one_buffer_again_and_again(rng):
    X, y = rows(rng)

    def refilled():
        buffer = np.empty((100, 4))
        for x, target in chunks_of(100, X, y):
            buffer[:] = x
            yield buffer, target

    model = ConstantImputedLR().fit(refilled())
    assert_same(model, ConstantImputedLR().fit(X, y), X, y)


def test_several_targets_come_in_chunks_too(rng):
    X, y = rows(rng)
    Y = np.column_stack([y, -2 * y])
    model = EMLR().fit(chunks_of(500, X, Y))
    assert_same(model, EMLR().fit(X, Y), X, Y)


def test_a_splitter_deals_a_known_number_of_rows_as_in_memory(rng, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    from sklearn.model_selection import KFold

    X, y = rows(rng)
    cv = KFold(4, shuffle=True, random_state=3)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    expected = ExpandedLR(cv=cv).fit(frame, y)
    frame.assign(y=y).to_parquet(tmp_path / "t.parquet")
    model = ExpandedLR(cv=cv).fit(tmp_path / "t.parquet", "y")
    assert model.cv_scores_ == pytest.approx(expected.cv_scores_, abs=1e-9)


# --- what goes wrong ------------------------------------------------------------------


def state(model):
    return {name: id(value) for name, value in vars(model).items()}


@every
def test_a_stream_that_breaks_raises_and_leaves_the_model_as_it_was(model, rng):
    X, y = rows(rng)
    model = copy.deepcopy(model).fit(X, y)
    before, known = state(model), model.predict(X)

    def broken():
        yield from chunks_of(500, X[:1500], y[:1500])
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        model.fit(broken())
    assert state(model) == before
    np.testing.assert_array_equal(model.predict(X), known)


def test_interrupting_a_fit_leaves_nothing_behind(rng, tmp_path):
    X, y = rows(rng)
    model = EMLR().fit(X, y)
    before, threads = state(model), threading.active_count()

    def interrupted():
        yield from chunks_of(500, X[:1500], y[:1500])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(interrupted())
    gc.collect()
    assert state(model) == before
    assert threading.active_count() <= threads


def test_errors_name_the_chunk(rng):
    X, y = rows(rng)
    bad = X.copy()
    bad[1234, 2] = np.inf
    with pytest.raises(ValueError, match=r"chunk 2, from row 1000: .*infinity"):
        EMLR().fit(chunks_of(500, bad, y))
    with pytest.raises(ValueError, match=r"chunk 1, from row 500: .*4 features"):
        EMLR().fit(iter([(X[:500], y[:500]), (X[:9, :2], y[:9])]))
    with pytest.raises(ValueError, match="ended after 0 rows"):
        EMLR().fit(iter([]))
    nothing = np.zeros(len(X))
    with pytest.raises(ValueError, match="3000 rows, none of weight > 0"):
        EMLR().fit(chunks_of(500, X, y, nothing))
    with pytest.raises(ValueError, match=r"chunk 0.*negative"):
        EMLR().fit(chunks_of(500, X, y, nothing - 1))
    with pytest.raises(TypeError, match="MICELR needs all rows in memory"):
        MICELR().fit(chunks_of(500, X, y), None)
    with pytest.raises(ValueError, match="fewer than the 3 folds"):
        ExpandedLR().fit(iter([(X[:2], y[:2])]))


# --- predict --------------------------------------------------------------------------


def test_predictions_come_in_chunks_and_in_order_as_they_are_asked_for(rng):
    X, y = rows(rng)
    model = EMLR().fit(X, y)
    asked = []

    def features():
        for number, (chunk,) in enumerate(chunks_of(700, X)):
            asked.append(number)
            yield chunk

    predicted = model.predict(features())
    first = next(predicted)
    assert asked == [0]  # one chunk at a time: memory is bounded
    rest = list(predicted)
    np.testing.assert_array_equal(np.concatenate([first, *rest]), model.predict(X))
    pairs = list(model.predict(features(), return_std=True))
    std = np.concatenate([pair[1] for pair in pairs])
    np.testing.assert_array_equal(std, model.predict(X, return_std=True)[1])


@pytest.mark.filterwarnings("ignore:the chained regressions have not settled")
def test_a_predictor_that_sees_rows_at_fit_predicts_in_chunks(rng):
    X, y = rows(rng)
    model = MICELR().fit(X, y)
    predicted = np.concatenate(list(model.predict(iter([X[:1000], X[1000:]]))))
    expected = np.append(model.predict(X[:1000]), model.predict(X[1000:]))
    np.testing.assert_array_equal(predicted, expected)


MEMORY = """
import resource, numpy as np, missfit
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def chunks(n):
    rng = np.random.default_rng(0)
    for _ in range(n):
        X = rng.normal(size=(40_000, 8))
        X[rng.random(X.shape) < 0.2] = np.nan
        yield X, np.nan_to_num(X).sum(axis=1)
missfit.EMLR().fit(chunks(12))  # twice the chunks that are held at once
before = peak()
model = missfit.EMLR().fit(chunks(60))  # 173 MB of rows
for part in model.predict(X for X, _ in chunks(60)):
    pass
print(peak() - before)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_stream():
    pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    # MB; the allocator may keep a chunk or two (3 MB each) more
    assert float(done.stdout) < 60


def test_moments_of_a_source_are_those_of_its_rows(rng):
    from missfit.tables.chunks import open_source

    X, y = rows(rng)
    source = open_source(chunks_of(100, X, y))
    (moments,) = streams.fold_moments(source, lambda X, y: (X, y))
    expected = PatternMoments.from_data(X, y)
    np.testing.assert_array_equal(moments.count, expected.count)
    np.testing.assert_allclose(moments.scatter, expected.scatter, atol=1e-9)


def test_a_sample_is_drawn_evenly_from_the_whole_stream():
    X = np.arange(1000.0)[:, None]
    drawn = np.zeros(1000)
    for seed in range(400):
        parts = (Rows(part, part, part[:, 0]) for (part,) in chunks_of(70, X))
        rows, n = streams.sampled(parts, 100, np.random.default_rng(seed))
        assert n == 1000
        np.testing.assert_array_equal(rows.y, rows.X)
        drawn[rows.X[:, 0].astype(int)] += 1
    assert drawn.sum() == 400 * 100
    # each row is drawn 40 times in the mean, a binomial of deviation 6
    tenths = drawn.reshape(10, 100).mean(axis=1)
    np.testing.assert_allclose(tenths, 40, atol=5 * 6 / np.sqrt(100))
    assert 40 - 5 * 6 < drawn.min() < drawn.max() < 40 + 5 * 6


@pytest.mark.parametrize("base", [EMLR(), FactorizedLR()], ids=["EMLR", "FactorizedLR"])
def test_auto_chooses_by_a_sample_and_fits_its_base_to_all_rows(base, rng, monkeypatch):
    monkeypatch.setattr("missfit.auto.regressor.SAMPLE_ROWS", 600)
    monkeypatch.setattr(streams, "CHUNK_DOUBLES", 1000)
    X, y = rows(rng, n=2000)
    model = AutoRegressor([base], random_state=0).fit(chunks_of(300, X, y))
    assert "a random sample of 600 of 2,000 rows; the base" in str(model.explain())
    if hasattr(model.base_, "alpha_"):
        base = FactorizedLR(alphas=(model.base_.alpha_,))
    assert_same(model.base_, copy.deepcopy(base).fit(X, y), X, y)
    predicted = np.concatenate(list(model.predict(iter([X[:50], X[50:]]))))
    np.testing.assert_allclose(predicted, model.predict(X), rtol=1e-12)


def test_auto_on_a_short_stream_is_auto_in_memory(rng):
    X, y = rows(rng, n=300)
    model = AutoRegressor([EMLR()], random_state=0)
    ours = model.fit(chunks_of(70, X, y)).predict(X)
    np.testing.assert_array_equal(ours, model.fit(X, y).predict(X))
    with pytest.raises(TypeError, match="groups are not understood"):
        model.fit(chunks_of(70, X, y), groups=np.ones(300))
