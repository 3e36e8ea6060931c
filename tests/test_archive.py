"""What a model file may hold, and what is refused before anything is made of it."""

import io
import json
import time
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import HistGradientBoostingRegressor

from missfit.tables.training import TrainingTable
from missfit.workflow import archive
from missfit.workflow.archive import HEADER, SCHEMA, packed
from missfit.workflow.fit import fit_table
from missfit.workflow.model_file import ModelFileError, load_model, save_model


def table(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = 3 * np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return TrainingTable(pd.DataFrame(X, columns=["a", "b", "c"]), y, "y", None, [])


@pytest.fixture(scope="module")
def boosted():
    return fit_table(table(), predictor="HistGradientBoosting")


@pytest.fixture
def good(boosted, tmp_path):
    save_model(tmp_path / "good.skops", boosted)
    return tmp_path / "good.skops"


def members(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def repacked(path, change=None, **others):
    """Write a file again with other members and the checksum that goes with them."""
    found = {**members(path), **others}
    header = json.loads(found.pop(HEADER))
    if change is not None:
        schema = json.loads(found[SCHEMA])
        change(schema)
        found[SCHEMA] = json.dumps(schema).encode()
    found[HEADER] = archive.signed_header(header, found)
    path.write_bytes(archive.zipped(found.items(), zipfile.ZIP_DEFLATED))
    return path


def refusal(path):
    start = time.process_time()
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    # well under a second; before, minutes or no end
    assert time.process_time() - start < 10
    return str(caught.value)


def test_equal_models_give_equal_files(boosted, good, tmp_path):
    again = fit_table(table(), predictor="HistGradientBoosting")
    assert again is not boosted
    save_model(tmp_path / "again.skops", again)
    assert (tmp_path / "again.skops").read_bytes() == good.read_bytes()


def test_the_trees_of_scikit_learn_are_never_loaded(good):
    """Their indices are used unchecked: one that is tampered with ends the process."""
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = HistGradientBoostingRegressor(max_iter=2).fit(X, X[:, 0])
    for (tree,) in model._predictors:
        tree.nodes["left"][0] = 2**31
    header = json.loads(members(good)[HEADER])
    content = skops.io.dumps({"encoder": model, "regressor": model})
    good.write_bytes(packed(content, header))
    assert "which model files may not hold" in refusal(good)


def test_trees_that_were_tampered_with_are_refused(good):
    def feature_files(item):
        if isinstance(item, dict):
            if "feature" in item and "missing_left" in item:
                yield item["feature"]["file"]
            for value in item.values():
                yield from feature_files(value)

    (name,) = feature_files(json.loads(members(good)[SCHEMA]))
    feature = np.load(io.BytesIO(members(good)[name]))
    for place, value, message in [
        (0, 100, "trees split features 0 to 100 of 3"),
        (0, -5, "trees split features -5 to 2 of 3"),
        (slice(None), 0, "trees end in the middle of one"),
    ]:
        other = feature.copy()
        other[place] = value
        buffer = io.BytesIO()
        np.save(buffer, other)
        assert message in refusal(repacked(good, **{name: buffer.getvalue()}))


def list_node(*inner, **fields):
    kind = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    return {**kind, "content": list(inner), **fields}


def test_lists_that_share_lists_are_refused_at_once(good):
    """30 lists, each twice in the next: 2^30 to a reader that follows them."""

    def change(schema):
        nested = list_node(__id__=1)
        for depth in range(2, 31):
            nested = list_node(nested, list_node(__id__=depth - 1), __id__=depth)
        schema["content"]["encoder"] = nested

    assert "its objects refer to each other" in refusal(repacked(good, change))


def test_objects_nested_too_deep_are_refused(good):
    def change(schema):
        for _ in range(50):
            schema["content"]["encoder"] = list_node(schema["content"]["encoder"])

    assert "nested deeper than 80" in refusal(repacked(good, change))
    text = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    assert "RecursionError" in refusal(repacked(good, **{SCHEMA: text}))


def test_a_small_file_that_unpacks_to_much_is_refused(good):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(10 << 20))  # 80 MB in 80 kB
    refused = refusal(repacked(good, **{"0.npy": buffer.getvalue()}))
    assert "would unpack to 83,9" in refused
    assert "at most 67,108,864 are read" in refused


def test_one_array_used_by_many_counts_as_often_as_it_is_used(good):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(6 << 20))  # 48 MB

    def change(item):
        if isinstance(item, dict):
            if "file" in item:
                item["file"] = "0.npy"
            for value in item.values():
                change(value)

    assert "its arrays would take" in refusal(
        repacked(good, change, **{"0.npy": buffer.getvalue()})
    )


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("../0.npy", b"", "it holds '../0.npy', which missfit does not write"),
        ("more.txt", b"", "it holds 'more.txt'"),
        ("99999.npy", b"", "it holds arrays that no object uses"),
        ("0.npy", b"\x93NUMPY\x03\x00", "an array of a format never written"),
        ("0.npy", b"text", "it is damaged (ValueError"),
    ],
)
def test_members_that_missfit_does_not_write_are_refused(good, name, data, message):
    assert message in refusal(repacked(good, **{name: data}))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3, "c16"), "an array of complex128"),
        (np.zeros(3, [("a", "f8")]), "an array of"),
        (np.zeros((0, 2**40)), "says shape (0, 1099511627776)"),
    ],
)
def test_arrays_that_missfit_does_not_write_are_refused(good, array, message):
    buffer = io.BytesIO()
    np.save(buffer, array)
    assert message in refusal(repacked(good, **{"0.npy": buffer.getvalue()}))


def test_an_array_that_says_more_than_it_holds_is_refused(good):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(8))
    data = buffer.getvalue().replace(b"(8,), }  ", b"(9999,)} ")
    assert "says shape (9999,) and has 64 bytes" in refusal(
        repacked(good, **{"0.npy": data})
    )


def test_a_change_without_its_checksum_is_refused(good):
    found = members(good)
    header = json.loads(found[HEADER])
    found[HEADER] = json.dumps({**header, "rows": header["rows"] + 1}).encode()
    good.write_bytes(archive.zipped(found.items(), zipfile.ZIP_DEFLATED))
    assert "its content is not what its checksum says" in refusal(good)


def test_a_model_that_packs_too_well_is_stored_unpacked(boosted, tmp_path, monkeypatch):
    """Else its own limit on how much a file may unpack to would refuse it."""
    boosted.regressor.calibration_rows_[:, 2] = 0.0
    monkeypatch.setattr(archive, "MOST_UNPACKED", 1000)
    monkeypatch.setattr(archive, "MOST_RATIO", 2)
    save_model(tmp_path / "m.skops", boosted)
    with zipfile.ZipFile(tmp_path / "m.skops") as file:
        assert {i.compress_type for i in file.infolist()} == {zipfile.ZIP_STORED}
    again = load_model(tmp_path / "m.skops")
    X = boosted.regressor.calibration_rows_
    np.testing.assert_array_equal(
        again.regressor.predict(X), boosted.regressor.predict(X)
    )


def test_a_model_that_predicts_no_numbers_is_not_written(boosted, tmp_path):
    import copy

    broken = copy.deepcopy(boosted)
    broken.regressor.calibration_rows_ = broken.regressor.calibration_rows_[:, :2]
    with pytest.raises(ModelFileError, match="could not be loaded again"):
        save_model(tmp_path / "m.skops", broken)
    assert not (tmp_path / "m.skops").exists()
