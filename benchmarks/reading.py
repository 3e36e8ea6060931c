"""How fast a CSV file of plain numbers is read, beside pandas with Arrow's reader.

Prints a table: the least of some repetitions in seconds, the ratio to pandas, and the
most memory that a process takes which does nothing else. Run it on a machine that has
nothing else to do: ``python benchmarks/reading.py 1000000``.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COLUMNS = [f"x{j}" for j in range(19)]
REPETITIONS = 3


def write_table(path, n_rows):
    """Write 20 columns of numbers: long, rounded and whole ones."""
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(0)
    columns = {"y": rng.normal(size=n_rows)}
    for j, name in enumerate(COLUMNS):
        values = rng.normal(size=n_rows)
        columns[name] = (values, values.round(3), rng.integers(0, 10**5, n_rows))[j % 3]
    csv.write_csv(pa.table(columns), path)


def by_pandas(path):
    import pandas

    return len(pandas.read_csv(path, engine="pyarrow"))


def by_read_table(path):
    from missfit.tables.read import read_table

    return len(read_table(path))


def by_read_training(path):
    from missfit.tables.training import read_training

    return len(read_training(path, "y").y)


def by_chunks(path):
    from missfit.tables.read import read_chunks

    return sum(len(frame) for frame in read_chunks(path, [*COLUMNS, "y"]))


def by_numbers(path):
    from missfit.tables.chunks import TableFile, open_source

    return sum(len(chunk.y) for chunk in open_source(TableFile(path), "y").chunks())


READERS = {
    "pandas.read_csv(engine='pyarrow')": by_pandas,
    "read_table": by_read_table,
    "read_training": by_read_training,
    "read_chunks, as predict reads": by_chunks,
    "TableFile, as fit(path) reads": by_numbers,
}


def seconds(path):
    """Return the least time of each reader; they take turns."""
    least = dict.fromkeys(READERS, float("inf"))
    for _ in range(REPETITIONS):
        for name, read in READERS.items():
            start = time.perf_counter()
            read(path)
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def most_memory():
    """Return the most memory of this process; getrusage begins with the parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if "VmHWM" in line)


def megabytes(name, path):
    """Return the most memory of a process that reads once."""
    line = [sys.executable, __file__, "--memory", name, "--file", str(path)]
    return float(
        subprocess.run(line, capture_output=True, text=True, check=True).stdout
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--memory", choices=READERS, help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory:
        READERS[arguments.memory](arguments.file)
        print(most_memory())
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers.csv"
        write_table(path, arguments.rows)
        least = seconds(path)
        first = least[next(iter(least))]
        size = path.stat().st_size / 1e6
        print(f"{arguments.rows:,} rows, 20 columns, {size:.0f} MB\n")
        print("| | seconds | times pandas | most memory, MB |\n|---|---|---|---|")
        for name, value in least.items():
            memory = megabytes(name, path)
            print(f"| {name} | {value:.2f} | {value / first:.2f} | {memory:.0f} |")


if __name__ == "__main__":
    main()
