"""A server that is told to stop answers all that it has taken."""

import http.client
import json
import signal
import threading
import time

import pytest

from served import fitted_folder, refused

pytest.importorskip("starlette", reason='pip install "missfit[serve]"')
pytest.importorskip("uvicorn", reason='pip install "missfit[serve]"')
from serving import served_process

HEADERS = {"content-type": "application/json"}
ROW = json.dumps({"age": 51.5, "city": "Nice"})
N_CLIENTS = 6


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return fitted_folder(tmp_path_factory.mktemp("served")) / "model.skops"


class Client(threading.Thread):
    """Asks again and again by one connection, until an answer says that it ends."""

    def __init__(self, port):
        super().__init__()
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.n_answered, self.error, self.told = 0, None, False

    def run(self):
        try:
            while not self.told:
                self.connection.request("POST", "/predict", ROW, HEADERS)
                answer = self.connection.getresponse()
                assert answer.status == 200
                assert json.loads(answer.read())["predictions"]
                self.n_answered += 1
                self.told = answer.headers["connection"] == "close"
        except Exception as error:  # a request without a whole answer
            self.error = error
        self.connection.close()


def half_sent(port):
    """Return a connection whose request lacks its last byte."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest("POST", "/predict")
    connection.putheader("content-type", "application/json")
    connection.putheader("content-length", str(len(ROW)))
    connection.endheaders(ROW[:-1].encode())
    return connection


def test_sigterm_under_load_loses_no_request_that_was_taken(model):
    process, port = served_process(model)
    clients = [Client(port) for _ in range(N_CLIENTS)]
    waiting = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    waiting.request("POST", "/predict", ROW, HEADERS)
    waiting.getresponse().read()
    slow = half_sent(port)
    for client in clients:
        client.start()
    while min(client.n_answered for client in clients) < 5:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    # a connection that was idle asks once more, and a body comes to its end
    waiting.request("POST", "/predict", ROW, HEADERS)
    slow.send(ROW[-1:].encode())
    for connection in (waiting, slow):
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.headers["connection"] == "close"
        assert json.loads(answer.read())["predictions"]
        connection.close()
    for client in clients:
        client.join(30)
        assert client.error is None
        assert client.told
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == ""
    assert err == (
        "missfit: press Ctrl-C to stop\n"
        "missfit: stopped; all requests that were taken are answered\n"
    )


def test_a_file_that_is_no_model_is_refused_in_one_line(capsys, tmp_path):
    (tmp_path / "none.skops").write_text("nothing")
    err = refused(capsys, "serve", tmp_path / "none.skops")
    assert "is no missfit model file" in err
