"""Fits appended to a CSV file as they end, and not made again once they are there."""

import csv
import sys

from joblib import Parallel, delayed, parallel_config


def append_fits(out, fields, fits, fit_one, jobs):
    """Make the fits that a file lacks, several at a time.

    Parameters
    ----------
    out : Path
    fields : list of str
        Columns of the file.
    fits : dict
        Arguments of ``fit_one`` by the first columns of the row that it returns.
    """
    new, n_key = not out.exists(), len(next(iter(fits)))
    done = set()
    if not new:
        with out.open() as file:
            done = {
                tuple(row[f] for f in fields[:n_key]) for row in csv.DictReader(file)
            }
    left = [fit for key, fit in fits.items() if tuple(map(str, key)) not in done]
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(fields)
        # one thread for each job: they must not take each other's processors
        with parallel_config("loky", inner_max_num_threads=1):
            parallel = Parallel(
                n_jobs=jobs, return_as="generator_unordered", batch_size=1
            )
            results = parallel(delayed(fit_one)(*fit) for fit in left)
            for k, row in enumerate(results, 1):
                writer.writerow(row)
                file.flush()
                print(f"{k}/{len(left)}", *row, file=sys.stderr, flush=True)
