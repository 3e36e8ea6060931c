"""On a real Dask cluster of two processes: same numbers, whatever happens to them."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from conftest import hide
from missfit import EMLR, ConstantImputedLR, ExpandedLR

da = pytest.importorskip("dask.array", reason="Dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
pandas = pytest.importorskip("pandas")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

N_PARTS, PART_ROWS, D = 12, 10_000, 5
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def part_of(number):
    """Rows that a worker makes for itself; the last column is the target."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(PART_ROWS, D)) + 1
    y = X.sum(axis=1) + rng.normal(size=PART_ROWS)
    return np.column_stack([hide(rng, X, 0.3), y])


def features(block, pause=0.0, infinite=None, block_info=None):
    number = block_info[None]["chunk-location"][0]
    time.sleep(pause)
    X = part_of(number)[:, :D]
    if number == infinite:
        X[7, 2] = np.inf
    return X


def target(block, block_info=None):
    return part_of(block_info[None]["chunk-location"][0])[:, D]


def table(**how):
    seeds = da.zeros(N_PARTS * PART_ROWS, chunks=PART_ROWS)
    X = seeds.map_blocks(
        features,
        chunks=((PART_ROWS,) * N_PARTS, (D,)),
        new_axis=1,
        meta=np.empty((0, 0)),
        **how,
    )
    return X, seeds.map_blocks(target, meta=np.empty(0))


def framed(number):
    return pandas.DataFrame(part_of(number), columns=[*"abcde", "y"])


def in_memory():
    rows = np.concatenate([part_of(number) for number in range(N_PARTS)])
    return rows[:, :D], rows[:, D]


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster, timeout="60s") as client:
        yield client


def within(seconds, call):
    """Call in a thread, so that a fit that hangs fails the test and not the suite."""
    done = {}

    def run():
        try:
            done["value"] = call()
        except BaseException as error:
            done["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, done, seconds


def result(started):
    thread, done, seconds = started
    thread.join(seconds)
    assert not thread.is_alive(), f"no answer in {seconds} seconds"
    if "error" in done:
        raise done["error"]
    return done["value"]


def assert_same(model, expected, X, y):
    tolerance = (1e-6 if isinstance(model, EMLR) else 1e-10) * y.std()
    np.testing.assert_allclose(
        model.predict(X), expected.predict(X), rtol=0, atol=tolerance
    )


def test_a_cluster_fits_as_memory_and_only_moments_travel(client):
    X, y = in_memory()
    before = sent(client)
    for model in (ConstantImputedLR(), ExpandedLR(), EMLR()):
        ours = result(within(120, lambda model=model: model.fit(*table())))
        assert_same(ours, type(model)().fit(X, y), X, y)
    frame = dd.from_map(framed, range(N_PARTS), meta=framed(0).iloc[:0])
    named = result(within(120, lambda: EMLR().fit(frame, "y")))
    np.testing.assert_allclose(named.mean_, EMLR().fit(X, y).mean_, rtol=1e-9)
    # Four fits. Moments are 11 kB a table; an idle worker may take over a partition
    # or two of 480 kB each time, never the 12 of them.
    assert sent(client) - before < 4 * X.nbytes / 2
    predicted = ours.predict(table()[0])
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(
        result(within(120, predicted.compute)), ours.predict(X)
    )


def sent(client):
    """Bytes that the workers have sent to each other and to the client."""
    by_worker = client.run(
        lambda dask_worker: dask_worker.transfer_outgoing_bytes_total
    )
    return sum(by_worker.values())


def test_infinities_in_one_partition_raise_one_error_that_names_it(client):
    model = ConstantImputedLR()
    with pytest.raises(ValueError, match=r"^partition 5 of 12: X is infinite in 1 of"):
        result(within(120, lambda: model.fit(*table(infinite=5))))
    assert not hasattr(model, "coef_")


def test_a_worker_killed_during_the_fit_does_not_change_the_result(client):
    X, y = in_memory()
    undisturbed = result(within(120, lambda: ExpandedLR().fit(*table())))
    fit = within(180, lambda: ExpandedLR().fit(*table(pause=0.3)))
    time.sleep(1.0)  # of at least 12 * 0.3 / 2 seconds
    pids = client.run(os.getpid)
    assert fit[0].is_alive()
    os.kill(next(iter(pids.values())), signal.SIGKILL)
    model = result(fit)
    np.testing.assert_array_equal(
        model.pattern_models_.coef, undisturbed.pattern_models_.coef
    )
    assert_same(model, ExpandedLR().fit(X, y), X, y)
