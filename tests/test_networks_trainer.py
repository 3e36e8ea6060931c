"""The trainer: many networks in one batch are as many networks alone."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor

from missfit.networks.network import Data, Functions, Network, Recipe

trainer = pytest.importorskip(
    "missfit.networks.trainer", reason='pip install "missfit[networks]"'
)
functions = pytest.importorskip("missfit.networks.functions")
slots = pytest.importorskip("missfit.networks.slots")
steps = pytest.importorskip("missfit.networks.steps")
jnp = pytest.importorskip("jax.numpy")

SQUARES = Functions(functions.mlp_apply, functions.half_squared_error)


def networks(n, recipe, width=12, n_inputs=6):
    for seed in range(n):
        params = functions.mlp_start(seed, n_inputs, width, 1)
        params = {name: p.astype(np.float32) for name, p in params.items()}
        yield Network(params, 0, 0.01, seed, recipe)


def data(rng, n_rows=500, n_inputs=6, sets=()):
    inputs = rng.standard_normal((n_rows, n_inputs)).astype(np.float32)
    targets = np.sin(inputs.sum(axis=1, keepdims=True))
    rows = [np.arange(n) for n in (n_rows, *sets)]
    return Data(inputs, targets, np.ones(n_rows, np.float32), rows)


def test_a_network_alone_and_in_a_batch_of_a_hundred_agree(rng):
    # of every length, so that slots end at any time
    table = data(rng, sets=[500 - 3 * k for k in range(100)])
    recipe = Recipe(max_epochs=30, patience=None)
    nets = list(networks(100, recipe))
    for k, net in enumerate(nets):
        net.rows = 1 + k
    many = trainer.train(nets, table, SQUARES)
    for k in (0, 37, 99):
        (one,) = trainer.train([nets[k]], table, SQUARES)
        assert len(one.loss_curve) == 30
        np.testing.assert_allclose(one.loss_curve, many[k].loss_curve, rtol=1e-4)
        for name, p in one.params.items():  # float32, 90 steps
            np.testing.assert_allclose(p, many[k].params[name], atol=2e-4)


@pytest.mark.slow
def test_networks_that_wait_for_a_slot_end_as_those_that_do_not(rng, monkeypatch):
    table = data(rng, sets=[100 + 13 * k for k in range(30)])
    nets = list(networks(30, Recipe(max_epochs=40, patience=None)))
    for k, net in enumerate(nets):
        net.rows = 1 + k
    together = trainer.train(nets, table, SQUARES)
    monkeypatch.setattr(slots, "MOST_SLOTS", 4)
    monkeypatch.setattr(trainer, "REFILL", 2)
    monkeypatch.setattr(trainer, "STEPS_AT_ONCE", (16,))
    in_turn = trainer.train(nets, table, SQUARES)
    for one, other in zip(together, in_turn, strict=True):
        assert len(one.loss_curve) == 40
        np.testing.assert_allclose(one.loss_curve, other.loss_curve, rtol=1e-4)
        for name, p in one.params.items():
            np.testing.assert_allclose(p, other.params[name], atol=5e-4)


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [1, 2])
def test_networks_that_follow_others_train_too(n_threads, rng, monkeypatch):
    monkeypatch.setattr(trainer, "n_threads", lambda: n_threads)
    table, recipe = data(rng), Recipe(max_epochs=20, patience=None)
    nets = list(networks(12, recipe))
    for k, net in enumerate(nets):
        net.tag = (0, k)
    ended = {}

    def one_more_from_its_end(finished):
        ended.update((net.tag, trained) for net, trained in finished)
        return [
            replace(net, params=trained.params, tag=(1, net.tag[1]))
            for net, trained in finished
            if net.tag[0] == 0
        ]

    first = trainer.train(nets, table, SQUARES, then=one_more_from_its_end)
    assert len(ended) == 24
    for k in (0, 11):
        again = replace(nets[k], params=first[k].params)
        (alone,) = trainer.train([again], table, SQUARES)
        np.testing.assert_allclose(alone.loss_curve, ended[1, k].loss_curve, rtol=1e-4)


def test_a_batch_is_cut_to_fit_into_memory(rng, monkeypatch):
    nets = list(networks(500, Recipe()))
    assert slots.n_slots(nets) == 512
    each = 8 * 97 * 4 + 48 * 200 * 12  # parameters, activations
    monkeypatch.setattr(slots, "free_bytes", lambda: 2**22)
    assert slots.n_slots(nets) == 2**22 // each
    monkeypatch.setattr(slots, "free_bytes", lambda: 1)
    assert slots.n_slots(nets) == 1


def test_an_interrupt_stops_the_training_of_all_threads(rng):
    table = data(rng)
    nets = list(networks(12, Recipe(max_epochs=10**6, patience=None)))
    nets[0].recipe = Recipe(max_epochs=1)

    def interrupt(finished):
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        trainer.train(nets, table, SQUARES, then=interrupt)
    assert threading.active_count() <= before


@pytest.mark.slow
def test_units_of_zero_weight_stay_without_a_say(rng):
    table = data(rng)
    recipe = Recipe(max_epochs=10, patience=None)
    narrow = functions.mlp_start(0, 6, 5, 1)
    wide = {
        "W1": np.pad(narrow["W1"], [(0, 0), (0, 11)]),
        "b1": np.pad(narrow["b1"], (0, 11)),
        "W2": np.pad(narrow["W2"], [(0, 11), (0, 0)]),
        "b2": narrow["b2"],
    }
    fits = []
    for params in (narrow, wide):
        start = {name: p.astype(np.float32) for name, p in params.items()}
        net = Network(start, 0, 0.1, 0, recipe)
        fits += trainer.train([net], table, SQUARES)
    assert not fits[1].params["W1"][:, 5:].any()
    assert not fits[1].params["W2"][5:].any()
    np.testing.assert_allclose(
        fits[1].params["W1"][:, :5], fits[0].params["W1"], atol=1e-5
    )


@pytest.mark.slow
def test_networks_leave_the_batch_when_their_loss_no_longer_falls(rng):
    table = data(rng)
    recipe = Recipe(max_epochs=200, tol=5e-3, patience=10)
    easy = list(networks(6, recipe))
    for net in easy[:3]:
        net.weight_decay = 1e4  # shrinks to zero and stays there
    done = trainer.train(easy, table, SQUARES)
    for net in done:
        loss, best, waited = np.float32(net.loss_curve), np.float32(np.inf), 0
        for epoch, value in enumerate(loss):  # the rule, as scikit-learn states it
            waited = waited + 1 if value > best - np.float32(5e-3) else 0
            best = min(best, value)
            assert waited <= 10 or epoch == len(loss) - 1
        assert waited > 10 or len(loss) == 200
    assert len({len(net.loss_curve) for net in done}) > 1


@pytest.mark.parametrize("n", [1, 2, 700, 2**16 + 6])
def test_every_epoch_visits_every_row_once(n):
    strides = set()
    for epoch in range(20):
        start, stride = steps.walk(jnp.uint32(7), jnp.int32(epoch), jnp.int32(n))
        visited = (int(start) + int(stride) * np.arange(n)) % n
        assert len(np.unique(visited)) == n
        strides.add(int(stride))
    assert len(strides) > 10 or n <= 2


def test_the_strides_are_primes():
    primes = np.asarray(steps.primes())
    assert len(np.unique(primes)) == steps.N_PRIMES
    assert (primes > 2**24).all()
    small = np.arange(2, int(primes.max() ** 0.5) + 1)
    assert (primes[:, None] % small[None]).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_trainer_learns_what_scikit_learn_learns(rng):
    # the same model, loss and rule: the training losses end close to each other
    table = data(rng, n_rows=2000)
    theirs = [
        MLPRegressor(
            hidden_layer_sizes=(12,), alpha=0.01, max_iter=300, random_state=seed
        )
        .fit(table.inputs, table.targets.ravel())
        .loss_
        for seed in range(5)
    ]
    nets = list(networks(5, Recipe(max_epochs=300)))
    ours = trainer.train(nets, table, SQUARES)
    last = [net.loss_curve[-1] for net in ours]
    assert abs(np.mean(last) - np.mean(theirs)) < 0.25 * np.mean(theirs)
