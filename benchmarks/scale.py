"""Cost of a fit against rows and against patterns, and the machine's own limits.

Rows are generated chunk by chunk into a Parquet file in a temporary folder (49 bytes a
row at half missing), which is deleted at the end. Each fit runs in a process of its
own, so that its peak memory is its own; sizes alternate, so that a busy machine
disturbs all alike. The limits are measured in the same run: the bytes of the rows as
doubles over the memory bandwidth (a copy, read and write counted), the bytes of the
file over the speed at which they are read, and the multiplications of the scatters over
the rate of a matrix product.

    python benchmarks/scale.py                          # up to 1,000,000 rows
    python benchmarks/scale.py --rows 1e6 1e8 --runs 5  # 5 GB of disk, about an hour
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from missfit import EMLR, ConstantImputedLR, ExpandedLR, PatternMoments

D = 10
CHUNK = 250_000
MODELS = {model.__name__: model for model in (ConstantImputedLR, ExpandedLR, EMLR)}


def chunk(number, n, d=D):
    """Rows of a Gaussian with half of the values missing, the same for every table."""
    rng = np.random.default_rng([number, 20200826])
    X = rng.standard_normal((n, d))
    X += 0.7 * rng.standard_normal((n, 1)) + 1
    y = X @ np.linspace(1, 2, d) + rng.standard_normal(n)
    return X, rng.random((n, d)) < 0.5, y


def write(path, n):
    """Write n rows, a chunk and a row group at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    writer = None
    for number, start in enumerate(range(0, n, CHUNK)):
        X, mask, y = chunk(number, min(CHUNK, n - start))
        columns = {f"x{j}": pa.array(X[:, j], mask=mask[:, j]) for j in range(D)}
        table = pa.table({**columns, "y": y})
        if writer is None:
            options = {"compression": "none", "use_dictionary": False}
            writer = parquet.ParquetWriter(path, table.schema, **options)
        writer.write_table(table)
    writer.close()


def one_fit(name, path):
    """Fit in this process; print seconds and peak memory as JSON."""
    import resource

    import pandas  # noqa: F401  (imported before the clock starts)
    import pyarrow.parquet  # noqa: F401

    start, cpu = time.perf_counter(), time.process_time()
    if name == "read":
        from missfit.tables.chunks import open_source

        for _ in open_source(path, "y").chunks():
            pass
    else:
        MODELS[name]().fit(path, "y")
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak_mb": peak}))


def fit_elsewhere(name, path):
    command = [sys.executable, __file__, "--one", name, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def best(call, n=5):
    times = []
    for _ in range(n):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def memory_bandwidth():
    """Bytes per second of a copy, both ways."""
    a = np.ones(2**25)
    b = np.empty_like(a)
    return 2 * a.nbytes / best(lambda: np.copyto(b, a))


def gemm_rate():
    """Floating-point operations per second of a product of square matrices."""
    a = np.ones((1500, 1500))
    return 2 * 1500**3 / best(lambda: a @ a)


def file_bandwidth(path):
    """Bytes per second of reading the file, from the page cache where it fits."""
    buffer = bytearray(2**24)
    size = min(path.stat().st_size, 2**30)

    def read():
        with path.open("rb", buffering=0) as file:
            while file.tell() < size and file.readinto(buffer):
                pass

    return size / best(read, 3)


def against_rows(sizes, n_runs):
    print(f"\nRows of {D} features (1,024 patterns) from Parquet: seconds per fit, the")
    print(f"median of {n_runs} alternating runs; read = the file to float64 alone")
    with tempfile.TemporaryDirectory(prefix="missfit-scale-") as folder:
        paths = {}
        for n in sizes:
            paths[n] = Path(folder) / f"{n}.parquet"
            write(paths[n], n)
        names = ["read", *MODELS]
        runs = {(name, n): [] for name in names for n in sizes}
        for _ in range(n_runs):
            for key in runs:
                runs[key].append(fit_elsewhere(key[0], paths[key[1]]))
        print_differences(paths[max(n for n in sizes if n <= 1e6)])
        file = file_bandwidth(paths[max(sizes)])
        bytes_a_row = paths[max(sizes)].stat().st_size / max(sizes)
    bandwidth, gemm = memory_bandwidth(), gemm_rate()
    limits = {
        "memory": 8 * (D + 1) / bandwidth,
        "file": bytes_a_row / file,
        "products": 2 * (D + 1) ** 2 / gemm,
    }
    print(
        f"memory {bandwidth / 1e9:.1f} GB/s, file {file / 1e9:.1f} GB/s, products "
        f"{gemm / 1e9:.0f} GFLOP/s; the least time a row: "
        + ", ".join(f"{name} {s * 1e9:.1f} ns" for name, s in limits.items())
    )
    print(
        f"{'':<18}{'rows':>13}{'seconds':>9}{'ns a row':>10}{'CPU ns':>9}"
        f"{'peak MB':>9}{'x limit':>9}"
    )
    for (name, n), found in runs.items():
        seconds = statistics.median(run["seconds"] for run in found)
        cpu = statistics.median(run["cpu"] for run in found)
        peak = max(run["peak_mb"] for run in found)
        share = seconds / n / sum(limits.values())
        print(
            f"{name:<18}{n:>13,}{seconds:>9.2f}{seconds / n * 1e9:>10.0f}"
            f"{cpu / n * 1e9:>9.0f}{peak:>9.0f}{share:>9.1f}"
        )


def print_differences(path):
    """Compare the fits from the file with those of the same rows in memory."""
    import pandas

    frame = pandas.read_parquet(path)
    X, y = frame.drop(columns="y"), frame["y"]
    print(f"\nFrom the file of {len(frame):,} rows against the same rows in memory")
    for name, model in MODELS.items():
        stream, memory = model().fit(path, "y"), model().fit(X, y)
        slopes = stream.pattern_models_.coef - memory.pattern_models_.coef
        gap = stream.predict(X) - memory.predict(X)
        print(
            f"{name:<18} largest difference of a coefficient {abs(slopes).max():.1e}, "
            f"of a prediction {abs(gap).max() / y.std():.1e} sd(y)"
        )


def against_patterns(n):
    print(f"\nPatterns, {n:,} rows in memory: the pass, then the fit from moments")
    print(
        f"{'d':>4}{'patterns':>10}{'pass':>10}{'A.T @ A':>10}{'ratio':>7}"
        f"{'moments/data':>14}" + "".join(f"{name:>19}" for name in MODELS)
    )
    rng = np.random.default_rng(0)
    for d, n_patterns in [(10, 1), (10, 32), (10, 1000), (30, 500), (30, 2000)]:
        X, _, y = chunk(0, n, d)
        A = np.column_stack([X, y])
        patterns = rng.random((n_patterns, d)) < 0.3 * (n_patterns > 1)
        X[patterns[rng.integers(n_patterns, size=n)]] = np.nan
        ours = best(lambda X=X, y=y: PatternMoments.from_data(X, y), 3)
        base = best(lambda A=A: A.T @ A, 3)
        moments = PatternMoments.from_data(X, y)
        fits = []
        for kind in MODELS.values():
            model = kind(alphas=(1.0,)) if kind is ExpandedLR else kind()
            fits.append(best(lambda m=model, t=moments: m.fit_moments(t), 1))
        print(
            f"{d:>4}{len(moments):>10,}{ours * 1e3:>7.0f} ms{base * 1e3:>7.0f} ms"
            f"{ours / base:>7.1f}{moments.nbytes / (X.nbytes + y.nbytes):>14.3f}"
            + "".join(f"{s * 1e3:>16.0f} ms" for s in fits)
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e4, 1e5, 1e6])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        one_fit(*args.one)
        return
    against_rows([int(n) for n in args.rows], args.runs)
    against_patterns(200_000)


if __name__ == "__main__":
    main()
