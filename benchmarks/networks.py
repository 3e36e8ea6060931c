"""Network-steps per second of the trainer against scikit-learn's MLPRegressor.

One step is one Adam update of one network on a batch of 200 rows: 20 inputs (d = 10 and
its mask), 40 hidden units. Same architecture, batch size and number of epochs, same
machine, one run. On a GPU the rival is one thread of the same machine.
"""

import time
import warnings

import jax
import numpy as np
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_limits

from missfit.networks import trainer
from missfit.networks.functions import half_squared_error, mlp_apply, mlp_start
from missfit.networks.network import Data, Functions, Network, Recipe
from missfit.simulate import published_data

warnings.simplefilter("ignore")
D, WIDTH, N_ROWS, EPOCHS, BATCH = 10, 40, 8_000, 200, 200
SQUARES = Functions(mlp_apply, half_squared_error)
STEPS = EPOCHS * N_ROWS // BATCH
# of one step: the products with W1 and W2, forward and twice backward
FLOPS = 6 * BATCH * WIDTH * (2 * D + 1)


def table():
    X, y = published_data("mixture1", D, 0, 10_000)
    X, y = X[:N_ROWS], y[:N_ROWS]
    inputs = np.hstack([np.nan_to_num(X), np.isnan(X)])
    return (inputs - inputs.mean(0)) / inputs.std(0), y


def ours(inputs, y, n_networks):
    """Seconds of a step of one network within a batch, after compilation."""
    start = [mlp_start(i, 2 * D, WIDTH, 1) for i in range(n_networks)]
    networks = [
        Network(
            {name: p.astype(np.float32) for name, p in params.items()},
            0,
            1e-2,
            seed,
            Recipe(max_epochs=EPOCHS, patience=None),
        )
        for seed, params in enumerate(start)
    ]
    data = Data(
        inputs.astype(np.float32),
        y[:, None].astype(np.float32),
        np.ones(N_ROWS, np.float32),
        [np.arange(N_ROWS)],
    )
    begin = time.perf_counter()
    trainer.train(networks, data, SQUARES)
    first = time.perf_counter() - begin
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        trainer.train(networks, data, SQUARES)
        times.append(time.perf_counter() - begin)
    best = sorted(times)[1]
    return best / (STEPS * n_networks), first - best


def theirs(inputs, y):
    """Seconds of a step of MLPRegressor."""
    model = MLPRegressor(
        hidden_layer_sizes=(WIDTH,),
        batch_size=BATCH,
        max_iter=EPOCHS,
        n_iter_no_change=EPOCHS,
        random_state=0,
    )
    begin = time.perf_counter()
    model.fit(inputs, y)
    return (time.perf_counter() - begin) / STEPS


def main():
    inputs, y = table()
    device = jax.devices()[0]
    on_gpu = device.platform != "cpu"
    print(f"device: {device.device_kind} ({device.platform}), jax {jax.__version__}")
    with threadpool_limits(1 if on_gpu else None):
        rival = np.median([theirs(inputs, y) for _ in range(3)])
    threads = "one thread" if on_gpu else "all cores"
    print(f"MLPRegressor ({threads}): {rival * 1e6:.0f} us a step\n")
    print(f"{'networks':>9}{'us a step':>12}{'ratio':>9}{'GFLOP/s':>10}{'compile':>10}")
    sizes = (1, 10, 60, 600, 4096) if on_gpu else (1, 10, 60)
    for n_networks in sizes:
        step, compilation = ours(inputs, y, n_networks)
        print(
            f"{n_networks:>9}{step * 1e6:>12.3f}{rival / step:>9.0f}"
            f"{FLOPS / step / 1e9:>10.0f}{compilation:>8.1f} s"
        )
    print(f"\none square float32 product of 4,096: {gemm_rate() / 1e9:,.0f} GFLOP/s")


def gemm_rate():
    """Floating-point rate of a large product on the same device."""
    A = jax.numpy.ones((4096, 4096), jax.numpy.float32)
    product = jax.jit(lambda A: A @ A)
    product(A).block_until_ready()
    begin = time.perf_counter()
    for _ in range(3):
        product(A).block_until_ready()
    return 3 * 2 * 4096**3 / (time.perf_counter() - begin)


if __name__ == "__main__":
    main()
