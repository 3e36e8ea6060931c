"""The server: what it answers, what it refuses, and that it ends well."""

import io
import json
import math
import threading

import numpy as np
import pandas as pd
import pytest

from missfit import load_model
from missfit.workflow.predict import predict_file
from served import fitted_folder, make_table

pytest.importorskip("starlette", reason='pip install "missfit[serve]"')
pytest.importorskip("uvicorn", reason='pip install "missfit[serve]"')
from missfit.serve.refusals import Limits
from missfit.serve.server import ServeError, listening_socket
from serving import Running

ROW = {"age": 51.5, "smokes": True, "born": "1994-03-01", "city": "Nice", "dose": 0.4}
SHORT = Limits(body=10_000, rows=50, head_seconds=0.5, body_seconds=0.5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fitted_folder(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def model(folder):
    return load_model(folder / "model.skops")


@pytest.fixture(scope="module")
def running(model):
    server = Running(model)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def short(model):
    """A server with tight limits."""
    server = Running(model, SHORT)
    yield server
    server.stop()


def predicted_by_command(model, path, tmp_path):
    """What `missfit predict` writes for a file."""
    predict_file(model, path, tmp_path / "out.csv")
    return pd.read_csv(tmp_path / "out.csv").to_numpy()


def as_arrow(frame, new):
    import pyarrow as pa

    sink = io.BytesIO()
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with getattr(pa.ipc, new)(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def numbers(predictions):
    return np.array(
        [[row[k] for k in ("prediction", "lower", "upper")] for row in predictions]
    )


def test_json_csv_and_arrow_are_answered_as_the_command_predicts_a_file(
    running, model, folder, tmp_path
):
    expected = predicted_by_command(model, folder / "new.csv", tmp_path)
    text = (folder / "new.csv").read_bytes()
    frame = pd.read_csv(folder / "new.csv")
    rows = json.loads(frame.to_json(orient="records"))
    bodies = {
        "application/json": json.dumps(rows),
        "text/csv": text,
        "application/vnd.apache.arrow.stream": as_arrow(frame, "new_stream"),
        "application/vnd.apache.arrow.file": as_arrow(frame, "new_file"),
    }
    for kind, body in bodies.items():
        status, _, said = running.ask("POST", "/predict", body, kind)
        found = json.loads(said)
        assert (status, found["warnings"]) == (200, [])
        np.testing.assert_array_equal(numbers(found["predictions"]), expected)
    _, headers, said = running.ask(
        "POST", "/predict", text, "text/csv", accept="text/csv"
    )
    assert headers["content-type"].startswith("text/csv")
    np.testing.assert_array_equal(pd.read_csv(io.BytesIO(said)).to_numpy(), expected)
    alone = [running.predict(row)[0][0] for row in rows[:20]]
    np.testing.assert_array_equal(numbers(alone), expected[:20])


@pytest.mark.parametrize("name", list(ROW))
def test_null_nan_empty_text_a_mark_and_no_key_are_all_missing(running, name):
    without = {key: value for key, value in ROW.items() if key != name}
    expected = running.predict(without)
    assert expected[1] == []
    for missing in (None, math.nan, "", "NA", "NaN"):
        assert running.predict({**ROW, name: missing}) == expected
    assert running.predict(ROW)[0] != expected[0]


def test_what_is_said_of_a_strange_key_names_the_columns_of_the_model_alone(running):
    _, warnings = running.predict({**ROW, "foo": 1})
    assert len(warnings) == 1
    assert all(name in warnings[0] for name in ("'foo'", *ROW))
    assert ", y" not in warnings[0]


def test_a_row_with_nothing_known_is_answered(running):
    rows, warnings = running.predict({})
    assert rows[0]["lower"] < rows[0]["prediction"] < rows[0]["upper"]
    assert warnings == []
    assert running.predict([]) == ([], [])


def test_values_are_read_by_the_schema_of_the_model(running):
    expected = running.predict(ROW)
    for change in (
        {"age": "51.5"},
        {"smokes": "yes"},
        {"smokes": 1},
        {"city": " Nice "},
        {"y": 7.0},  # the target may come along, and is not used
    ):
        assert running.predict({**ROW, **change}) == expected


def test_requests_that_come_together_are_answered_as_if_each_were_alone(running):
    table = make_table(24, seed=5).drop(columns="y").assign(born="1992-07-01")
    rows = json.loads(table.to_json(orient="records"))
    odd = [{**ROW, "age": "old"}, {**ROW, "city": "Rome"}, {**ROW, "Age": 1}, {"a": 1}]
    bodies = [json.dumps(row) for row in (*rows, *odd)]

    def answers(bodies):
        return [running.ask("POST", "/predict", body)[::2] for body in bodies]

    alone = answers(bodies)
    assert [status for status, _ in alone[-4:]] == [422, 200, 200, 422]
    assert "Rome" in alone[-3][1].decode()
    assert "did you mean" in alone[-2][1].decode()
    together: list = [None] * 4
    threads = [
        threading.Thread(
            target=lambda k=k: together.__setitem__(k, answers(bodies[k::4]))
        )
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        assert together[k] == alone[k::4]


HEAD = b"POST /predict HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\n"


@pytest.mark.parametrize(
    ("body", "kind", "status", "words"),
    [
        ("{", "application/json", 400, "the body is no JSON"),
        ("", "application/json", 400, "the body is no JSON"),
        (b'{"age": "\xff"}', "application/json", 400, "not UTF-8 (byte 9 is 0xff)"),
        ("[" * 9_000, "application/json", 400, "nested too deeply"),
        ('"age"', "application/json", 422, "the body is 'age'. Give a row as"),
        ("[1]", "application/json", 422, "row 1 is 1. Give a row as"),
        ('{"age": [1]}', "application/json", 422, "'age' of row 1 is a list"),
        ('{"age": "old"}', "application/json", 422, "'age' held numbers at fit"),
        ('{"Ages": 1}', "application/json", 422, "no key is a column of the model"),
        ('{"rows": [], "x": 1}', "application/json", 422, 'beside "rows"'),
        (json.dumps([{}] * 51), "application/json", 413, "at most 50 are taken"),
        ("x" * 10_001, "application/json", 413, "larger than 0.00953674 MB"),
        ("x" * 300_000, "application/json", 413, "send its rows in parts"),
        ("{}", None, 415, "says no type at all; send rows as application/json"),
        ("{}", "text/plain", 415, "says 'text/plain'"),
        ("{}", "application/json; charset=utf-16", 415, "is not UTF-8"),
        ("", "text/csv", 422, "the body is empty"),
        ("a,b\n1,2\n", "text/csv", 422, "the body has no column 'age'"),
        (b"\0\1\2", "application/vnd.apache.arrow.stream", 422, "as Arrow"),
        (
            "age,smokes,born,city,dose\n" + ",,,,\n" * 51,
            "text/csv",
            413,
            "than 50 rows",
        ),
    ],
)
def test_a_bad_request_is_refused_in_one_clear_sentence_of_json(
    short, body, kind, status, words
):
    found, headers, said = short.ask("POST", "/predict", body, kind)
    error = json.loads(said)
    assert list(error) == ["error"]
    assert words in error["error"]
    assert found == status
    assert headers["content-type"] == "application/json"
    assert "Traceback" not in error["error"]
    assert short.ask("GET", "/health")[0] == 200


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}", 400),
        (b"content-length: 2\r\nhost: there\r\n\r\n{}", 400),
        (b"content-length: -2\r\n\r\n{}", 400),
        (b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400),
        (b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        (b"content-length : 2\r\n\r\n{}", 400),
    ],
)
def test_a_head_that_can_be_read_in_two_ways_is_refused_and_the_connection_ends(
    short, head, status
):
    said = short.raw(HEAD + head + b"GET /health HTTP/1.1\r\nhost: here\r\n\r\n")
    assert said.count(b"HTTP/1.1 ") == 1
    assert int(said[9:12]) in (400, status)
    assert b"ok" not in said


def test_what_is_no_http_is_refused_in_json(short):
    said = short.raw(b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03 hello\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 400 ")
    assert list(json.loads(said.split(b"\r\n\r\n")[1])) == ["error"]


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"", b"no whole head had come after 0.5 seconds"),
        (b"POST /predict HT", b"no whole head had come"),
        (HEAD + b"content-length: 20\r\n\r\n{", b"the body had not come whole after"),
    ],
)
def test_a_request_that_does_not_come_in_time_is_told_so(short, sent, words):
    said = short.raw(sent)
    assert said.startswith(b"HTTP/1.1 408 ")
    assert words in said


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(short):
    said = short.raw(HEAD + b"content-length: 99999999\r\nexpect: 100-continue\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 413 ")


def test_schema_health_and_metrics(running, model):
    _, _, body = running.ask("GET", "/schema")
    schema = json.loads(body)
    assert schema["target"] == "y"
    assert [one["name"] for one in schema["columns"]] == model.columns
    assert schema["columns"][3]["levels"] == model.encoder.categories_[3]
    assert schema["coverage"] == pytest.approx(0.9)
    assert json.loads(running.ask("GET", "/health")[2]) == {"status": "ok"}
    text = running.ask("GET", "/metrics")[2].decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    before = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}
    running.predict([{**ROW, "age": None}, ROW])
    text = running.ask("GET", "/metrics")[2].decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    after = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}
    for name, more in [
        ("missfit_rows_total", 2),
        ('missfit_missing_values_total{column="age"}', 1),
        ('missfit_missing_values_total{column="dose"}', 0),
        ('missfit_requests_total{path="/predict",status="200"}', 1),
    ]:
        assert after[name] - before.get(name, 0) == more, name
    assert (
        after["missfit_request_seconds_count"] >= after["missfit_rows_total"] > 0 or 1
    )


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/predict", 405), ("PUT", "/predict", 405), ("GET", "/nowhere", 404)],
)
def test_other_addresses_and_methods_are_refused(running, method, path, status):
    found, _, body = running.ask(method, path, kind=None)
    assert found == status
    assert list(json.loads(body)) == ["error"]


def test_the_missing_field_to_ask_for_next_is_the_one_that_lowers_the_error_most(
    running,
):
    status, _, body = running.ask("POST", "/ask", json.dumps({"born": "1994-03-01"}))
    said = json.loads(body)
    assert status == 200
    # y = age / 10 + 2 smokes + 3 (city is Nice) + dose: variances 1, 0.84, 2, 1
    assert said["ask"][0]["column"] == "city"
    assert {one["column"] for one in said["ask"]} <= {"age", "smokes", "city", "dose"}
    assert said["rmse"] > max(one["rmse"] for one in said["ask"])
    assert said["lower"] < said["prediction"] < said["upper"]
    found, _, body = running.ask("POST", "/ask", json.dumps([{}, {}]))
    assert found == 422
    assert json.loads(body)["error"] == "the body has 2 rows; one is asked about."


def test_what_has_changed_in_the_rows_so_far_is_told(model):
    server = Running(model)
    try:
        before = json.loads(server.ask("GET", "/watch")[2])
        server.predict([{**ROW, "age": None, "city": "Rome"}] * 60)
        after = json.loads(server.ask("GET", "/watch")[2])
    finally:
        server.stop()
    assert (before["rows"], before["words"]) == (0, ["no rows have come yet"])
    assert after["rows"] == 60
    told = {(one["kind"], one["column"]) for one in after["changes"]}
    assert {("missing", "age"), ("level", "city")} <= told
    assert after["loss"] == "RMSE"
    assert after["expected"] > after["at_fit"]
    assert "the expected RMSE rises from" in after["words"][-1]


def test_a_fault_of_the_model_is_one_sentence_and_the_server_goes_on(
    model, capfd, monkeypatch
):
    server = Running(model)
    try:
        monkeypatch.setattr(type(model.regressor), "predict", lambda self, X: 1 / 0)
        status, _, body = server.ask("POST", "/predict", json.dumps(ROW))
        monkeypatch.undo()
        assert status == 500
        assert "could not answer" in json.loads(body)["error"]
        assert server.ask("POST", "/predict", json.dumps(ROW))[0] == 200
    finally:
        server.stop()
    err = capfd.readouterr().err
    assert "ZeroDivisionError" in err
    assert "Traceback" not in err


def test_a_port_that_is_taken_is_told_with_the_way_out():
    with listening_socket("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(ServeError, match="choose another host or port"):
            listening_socket("127.0.0.1", taken.getsockname()[1])


def test_the_page_needs_nothing_but_itself_and_escapes_names(running):
    _, headers, body = running.ask("GET", "/")
    text = body.decode()
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "http://" not in text
    assert "https://" not in text
    assert '<option value="Nice">' in text
