"""Time of PatternMoments.from_data against numpy's ``A.T @ A`` on the same array.

Both read the same 1,000,000 x 11 numbers once; the ratio is the price of the patterns.
Medians of alternating runs, so that a noisy machine disturbs both alike.
"""

import statistics
import time

import numpy as np

from missfit import PatternMoments


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def rows(n, d, n_patterns, rng):
    """Return a complete array and its features with holes of ``n_patterns`` kinds."""
    A = rng.standard_normal((n, d + 1))
    patterns = rng.random((n_patterns, d)) < 0.5
    if n_patterns == 2**d:
        patterns = np.arange(n_patterns)[:, None] >> np.arange(d) & 1 == 1
    X = np.where(patterns[rng.integers(n_patterns, size=n)], np.nan, A[:, :d])
    return A, X


def alternate(one, two, n_runs=5):
    """Medians of both and of their ratio, after one run of each to warm up."""
    one(), two()
    pairs = [(seconds(one), seconds(two)) for _ in range(n_runs)]
    ratio = statistics.median(b / a for a, b in pairs)
    return *(statistics.median(part) for part in zip(*pairs, strict=True)), ratio


def main():
    rng = np.random.default_rng(0)
    print("PatternMoments.from_data against A.T @ A (median of 5 alternating runs)")
    print(f"{'rows':>10}{'d':>4}{'patterns':>10}{'A.T @ A':>11}{'moments':>11}  ratio")
    cases = [
        (125_000, 10, 1024),
        (250_000, 10, 1024),
        (500_000, 10, 1024),
        (1_000_000, 10, 1024),
        (1_000_000, 10, 1),
        (1_000_000, 30, 500),
        (100_000, 50, 100_000),
    ]
    for n, d, n_patterns in cases:
        A, X = rows(n, d, n_patterns, rng)
        y = A[:, d].copy()
        base, ours, ratio = alternate(
            lambda A=A: A.T @ A, lambda X=X, y=y: PatternMoments.from_data(X, y)
        )
        print(
            f"{n:>10,}{d:>4}{n_patterns:>10,}{base * 1e3:>8.1f} ms{ours * 1e3:>8.1f} ms"
            f"{ratio:>8.1f}"
        )
    held = PatternMoments.from_data(X, y).nbytes / (X.nbytes + y.nbytes)
    print(f"memory of the last table: {held:.2f} times the data")


if __name__ == "__main__":
    main()
