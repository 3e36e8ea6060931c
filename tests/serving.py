"""Servers of a model for tests: in a thread of the test, or a process of their own."""

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

from missfit.serve.server import ModelServer


class Running:
    """A server in a thread of this process, and how it is asked."""

    def __init__(self, model, limits=None):
        ready = threading.Event()
        self.server = ModelServer(
            model, "127.0.0.1", 0, limits, on_start=lambda address: self._at(address)
        )
        self.ready = ready
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        assert ready.wait(30)

    def _at(self, address):
        self.port = urlsplit(address).port
        self.ready.set()

    def stop(self):
        self.server.stop()
        self.thread.join(30)
        assert not self.thread.is_alive()

    def ask(self, method, path, body=None, kind="application/json", **headers):
        """Return status, headers and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        if kind:
            headers["content-type"] = kind
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        found = answer.status, answer.headers, answer.read()
        connection.close()
        return found

    def predict(self, rows):
        """Return the predictions of rows that are sent as JSON, and warnings."""
        status, _, body = self.ask("POST", "/predict", json.dumps(rows))
        said = json.loads(body)
        assert status == 200, said
        return said["predictions"], said["warnings"]

    def raw(self, *parts):
        """Send bytes; return all that comes until the connection is closed."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as sock:
            for part in parts:
                sock.sendall(part)
            found = b""
            while chunk := sock.recv(65_536):
                found += chunk
        return found


def served_process(model):
    """Start `missfit serve` with a model file; return the process and its port."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "missfit", "serve", str(model), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | threads,
    )
    line = process.stdout.readline()
    assert "predictions of" in line, process.stderr.read()
    return process, int(line.rsplit(":", 1)[1])
