"""One door: the same table gives the same numbers, however it is written and read."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from missfit import EMLR, TableFile, study
from missfit.compare import compare_table
from missfit.compare.candidates import candidate
from missfit.tables.read import column_names
from missfit.tables.training import read_training

ROWS = 90
FEATURES = ["a", "b", "count", "flag"]


def make_frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(ROWS, 2)), columns=["a", "b"])
    frame["count"] = rng.integers(0, 9, ROWS).astype(float)
    frame["flag"] = rng.random(ROWS) < 0.5
    frame["y"] = frame["a"] - frame["b"] + 0.1 * frame["count"] + rng.normal(size=ROWS)
    for name in ("a", "b", "count"):
        frame.loc[rng.random(ROWS) < 0.2, name] = np.nan
    return frame


FRAME = make_frame()
HALVES = [FRAME.iloc[:40], FRAME.iloc[40:]]


def as_csv(**options):
    return lambda path: FRAME.to_csv(path, index=False, **options)


def as_folder(path):
    path.mkdir()
    for k, half in enumerate(HALVES):
        half.to_parquet(path / f"{k}.parquet")


FILES = {
    "comma": ("t.csv", as_csv()),
    "semicolon": ("t.csv", as_csv(sep=";")),
    "tab": ("t.tsv", as_csv(sep="\t")),
    "bar": ("t.txt", as_csv(sep="|")),
    "decimal comma": ("t.csv", as_csv(sep=";", decimal=",")),
    "BOM": ("t.csv", as_csv(encoding="utf-8-sig")),
    "CRLF": ("t.csv", as_csv(lineterminator="\r\n")),
    "quoted": ("t.csv", as_csv(quoting=1)),
    "NA": ("t.csv", as_csv(na_rep="None")),
    "gz": ("t.csv.gz", as_csv()),
    "bz2": ("t.tsv.bz2", as_csv(sep="\t", decimal=",")),
    "xz": ("T.CSV.XZ", as_csv(compression="xz")),
    "parquet": ("t.parquet", lambda path: FRAME.to_parquet(path, row_group_size=25)),
    "feather": ("t.feather", lambda path: FRAME.to_feather(path, chunksize=25)),
    "folder": ("parts", as_folder),
}
FRAMES = {"pandas": FRAME, "polars": pl.from_pandas(FRAME)}
CHUNKS = {
    "frames in chunks": (lambda: iter(HALVES), "y"),
    "arrays in chunks": (lambda: ((h[FEATURES], h["y"]) for h in HALVES), None),
}


@pytest.fixture(params=FILES)
def path(request, tmp_path):
    name, write = FILES[request.param]
    write(tmp_path / name)
    return tmp_path / name


def fitted(table, target):
    """Predictions of the first rows by a model of the table."""
    return EMLR().fit(table, target).predict(FRAME[FEATURES].astype(float))


def compared(table):
    """Predictions of a comparison, which encodes the columns first."""
    training = read_training(table, "y")
    (trial,) = compare_table(training, [candidate("EMLR")], n_folds=3).trials
    assert not trial.failure
    return trial.predictions


def studied(path):
    """Errors of a study of one's own on the table."""
    toml = path.parent / "own.toml"
    toml.write_text(
        f"[[data]]\nfile = {json.dumps(path.name)}\ntarget = 'y'\nrepetitions = 1\n"
        "[[methods]]\nname = 'EM'\nestimator = 'missfit.EMLR'\n"
    )
    table = study.run(study.load(toml), path.parent / "out")
    return table["mse"].to_numpy()


# Text of 17 digits reads back to the last bit or the one beside it, and sums of chunks
# are added in another order: 1e-9 is far above both, far below one misread value.
SAME = {"rtol": 1e-9, "atol": 1e-12}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "t.parquet"
    FRAME.astype(float).to_parquet(path)
    whole = EMLR().fit(FRAME[FEATURES].astype(float).to_numpy(), FRAME["y"].to_numpy())
    predictions = whole.predict(FRAME[FEATURES].astype(float).to_numpy())
    return predictions, compared(FRAME), studied(path)


def test_a_file_is_the_same_table_to_fit_to_compare_and_to_a_study(path, expected):
    assert column_names(path) == [*FEATURES, "y"]
    np.testing.assert_allclose(fitted(path, "y"), expected[0], **SAME)
    np.testing.assert_allclose(fitted(TableFile(path, FEATURES), "y"), expected[0])
    np.testing.assert_allclose(compared(path), expected[1], **SAME)
    np.testing.assert_allclose(studied(path), expected[2], **SAME)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_the_same_table_to_fit_and_to_compare(kind, expected):
    np.testing.assert_allclose(fitted(FRAMES[kind], "y"), expected[0], **SAME)
    np.testing.assert_allclose(compared(FRAMES[kind]), expected[1], **SAME)


@pytest.mark.parametrize("kind", CHUNKS)
def test_chunks_are_the_same_table_to_fit(kind, expected):
    np.testing.assert_allclose(fitted(*CHUNKS[kind]), expected[0], **SAME)
