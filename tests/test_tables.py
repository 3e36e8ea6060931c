"""One door: the same table gives the same numbers, however it is written and read."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import KFold, cross_val_predict, train_test_split

from missfit import EMLR, study
from missfit.comparison import CompareOptions, compare_table
from missfit.comparison.candidates import candidate
from missfit.study.records import read_records
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of folders, one for each way to write the table."""
    folder = tmp_path_factory.mktemp("tables")
    for way, (name, write) in FILES.items():
        (folder / way).mkdir()
        write(folder / way / name)
    return folder


def fitted(table, target):
    """Predictions of the first rows by a model of the table."""
    return EMLR().fit(table, target).predict(FRAME[FEATURES].astype(float))


def compared(table):
    """Predictions of a comparison, which encodes the columns first."""
    training = read_training(table, "y")
    (trial,) = compare_table(
        training, [candidate("EMLR")], CompareOptions(n_folds=3)
    ).trials
    assert not trial.failure
    return trial.predictions


@pytest.fixture(scope="module")
def studied(folder):
    """Errors of one study on all files, by the way that they are written."""
    text = "[[methods]]\nname = 'EM'\nestimator = 'missfit.EMLR'\n"
    for way, (name, _) in FILES.items():
        file = json.dumps(f"{way}/{name}")
        text += f"[[data]]\nname = '{way}'\nfile = {file}\ntarget = 'y'\n"
        text += "repetitions = 1\n"
    (folder / "own.toml").write_text(text)
    definition = study.load(folder / "own.toml")
    study.run(definition, folder / "out", jobs=1)
    table = study.tidy_table(definition, read_records(folder / "out" / "parts"))
    table = table[table["split"] == "test"]
    return dict(zip(table["setting"], table["mse"], strict=True))


# Text of 17 digits reads back to the last bit or the one beside it, and sums of chunks
# are added in another order: 1e-9 is far above both, far below one misread value.
SAME = {"rtol": 1e-9, "atol": 1e-12}


@pytest.fixture(scope="module")
def expected():
    """By arrays: predictions of a fit, of a comparison, and the error of a study."""
    X, y = FRAME[FEATURES].to_numpy(dtype=float), FRAME["y"].to_numpy()
    folds = cross_val_predict(EMLR(), X, y, cv=KFold(3, shuffle=True, random_state=0))
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    error = EMLR().fit(X_train, y_train).predict(X_test) - y_test
    return EMLR().fit(X, y).predict(X), folds, np.mean(error**2)


@pytest.mark.parametrize("way", FILES)
def test_a_file_is_the_same_table_to_fit_to_compare_and_to_a_study(
    folder, way, studied, expected
):
    path = folder / way / FILES[way][0]
    assert column_names(path) == [*FEATURES, "y"]
    np.testing.assert_allclose(fitted(path, "y"), expected[0], **SAME)
    np.testing.assert_allclose(compared(path), expected[1], **SAME)
    np.testing.assert_allclose(studied[way], expected[2], **SAME)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_the_same_table_to_fit_and_to_compare(kind, expected):
    np.testing.assert_allclose(fitted(FRAMES[kind], "y"), expected[0], **SAME)
    np.testing.assert_allclose(compared(FRAMES[kind]), expected[1], **SAME)


@pytest.mark.parametrize("kind", CHUNKS)
def test_chunks_are_the_same_table_to_fit(kind, expected):
    np.testing.assert_allclose(fitted(*CHUNKS[kind]), expected[0], **SAME)
