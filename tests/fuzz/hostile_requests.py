"""Hostile requests of HTTP, made from a number, and what is wrong with an answer.

Case ``i`` is always the same: some bytes to send, with pauses between them.
"""

import io
import json
import random
import socket
import time
from typing import NamedTuple

from hostile_bytes import damaged, odd_text

COLUMNS = ("age", "smokes", "born", "city", "dose")
ROW = {"age": 51.5, "smokes": True, "born": "1994-03-01", "city": "Nice", "dose": 0.4}
JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
PAUSE = 0.6  # seconds: twice what a server waits for a head or a body here
SECONDS = 30.0  # an answer that takes longer is a hang, on the slowest machine


class Case(NamedTuple):
    """Bytes to send, with a pause between two of them."""

    kind: str
    parts: list[bytes]
    answered: bool = True  # whether an answer is owed


def request(body, kind=JSON, method="POST", path="/predict", more=(), length=None):
    """Return the bytes of a request."""
    body = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
    lines = [f"{method} {path} HTTP/1.1", "host: here"]
    lines += [f"content-type: {kind}"] if kind is not None else []
    lines += [f"content-length: {len(body) if length is None else length}", *more]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def value(rng, depth=0):
    """Return a value that no column expects, or that some do."""
    simple = (None, True, "", "NA", "old", -1, 0.5, 10**30, -0.0, "1e999", " 5 ", "\0")
    odd = ("\ud800", "x" * 5_000, "2024-13-45", "=1+1", "\u202e", float("nan"))
    if depth < 3 and rng.random() < 0.2:
        inside = [value(rng, depth + 1) for _ in range(rng.randrange(3))]
        return inside if rng.random() < 0.5 else dict(enumerate(inside))
    return rng.choice(simple + odd + (float("inf"), 1e308, 5e-324, 2**63))


def wrong_types(rng):
    names = (*COLUMNS, "Age", "", "y", "x" * 300, "\u0000")
    rows = [
        {rng.choice(names): value(rng) for _ in range(rng.randrange(7))}
        for _ in range(rng.randrange(1, 6))
    ]
    found = rng.choice([rows, rows[0], {"rows": rows}, value(rng), [rows], {"rows": 1}])
    return Case("wrong types", [request(json.dumps(found))])


def deep(rng):
    n = rng.choice([500, 5_000, 100_000])
    inside = rng.choice(["[" * n, '{"age":' * n, "[" * n + "]" * n, '[{"a":[' * n])
    return Case("deep nesting", [request(inside)])


def numbers(rng):
    text = rng.choice(
        [
            "1" * 5_000,
            "1e999",
            "-1e999",
            "1" * 400,
            "0." + "0" * 400 + "1",
            "1E+2",
            "01",
        ]
    )
    return Case("numbers", [request(f'{{"age": {text}, "age": {text}}}')])


def types(rng):
    kinds = (None, "", "text/plain", "application/xml", "application/json; charset=x")
    kinds += ("multipart/form-data", "application/json;;;", "a" * 5_000, "\xff", ",")
    packed = rng.choice([(), ("content-encoding: gzip",), ("content-encoding: \xe9",)])
    return Case("types", [request(json.dumps(ROW), rng.choice(kinds), more=packed)])


def bad_text(rng):
    body = json.dumps(ROW).encode()
    spot = rng.randrange(len(body))
    more = rng.choice([b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\0", b"\xf8\x88\x80"])
    whole = rng.choice(
        [body[:spot] + more + body[spot:], body.decode().encode("utf-16")]
    )
    return Case("bad UTF-8", [request(whole)])


def broken(rng):
    return Case("broken JSON", [request(damaged(rng, json.dumps([ROW] * 3).encode()))])


def csv(rng):
    lines = [",".join(COLUMNS), "51.5,yes,1994-03-01,Nice,0.4", ",,,,", "1,no,,Lyon,2"]
    return Case("CSV", [request(odd_text(rng, "\n".join([*lines, ""])), "text/csv")])


def arrow(rng):
    import pyarrow as pa

    sink = io.BytesIO()
    table = pa.table({name: [ROW[name], None] for name in COLUMNS})
    packing = pa.ipc.IpcWriteOptions(compression=rng.choice([None, "zstd"]))
    with pa.ipc.new_stream(sink, table.schema, options=packing) as writer:
        writer.write_table(table)
    content = sink.getvalue()
    if rng.random() < 0.8:
        content = damaged(rng, content)
    return Case("Arrow", [request(content, ARROW)])


def large(rng):
    size = rng.choice(
        [1_000_001, 3_000_000, 100_000_000 if rng.random() < 0.1 else 10**7]
    )
    body = rng.choice([b"[" + b"0," * (size // 2), b" " * size])
    owed = size <= 10**7  # of what is larger, the end is not read
    return Case("large", [request(body)], owed)


def many_rows(rng):
    n = rng.choice([1_000, 1_001, 50_000])
    return Case("many rows", [request("[" + "{}," * n + "{}]")])


def lengths(rng):
    lie = rng.choice([0, 3, 1_000, 10**18, -1, "x", "1_0", "+5", "0x10", "5 5"])
    return Case("lengths", [request(json.dumps(ROW), length=lie)])


def slow(rng):
    whole = request(json.dumps(ROW))
    spot = rng.randrange(1, len(whole))
    parts = [whole[:spot], whole[spot:]]
    if rng.random() < 0.4:
        parts = [whole[:spot]]  # and then nothing
    return Case("slow", parts)


def gone(rng):
    whole = request(json.dumps(ROW))
    return Case("gone away", [whole[: rng.randrange(len(whole))]], answered=False)


def smuggled(rng):
    inner = "GET /health HTTP/1.1\r\nhost: here\r\n\r\n"
    heads = (
        "content-length: 5\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ntransfer-encoding: identity",
        "transfer-encoding: xchunked",
        "transfer-encoding : chunked",
        "transfer-encoding:\tchunked\r\ncontent-length: 0",
        "content-length: 0\r\ncontent-length: 40",
        "content-length: 0, 40",
        "x: y\r\n content-length: 4",
        "x: y\ncontent-length: 4",
        "host: other\r\ncontent-length: 0",
    )
    head = f"POST /predict HTTP/1.1\r\nhost: here\r\ncontent-type: {JSON}\r\n"
    text = f"{head}{rng.choice(heads)}\r\n\r\n0\r\n\r\n{inner}"
    return Case("smuggling", [text.encode()])


def chunked(rng):
    bodies = (
        "zz\r\n{}\r\n",
        "-1\r\n{}\r\n",
        "2\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}",
        "2;a=b\r\n{}\r\n0\r\n\r\n",
    )
    bodies += (
        "ffffffffffffffffff\r\n{}",
        "2\r\n{}\r\n0\r\nx: y\r\n\r\n",
        "1\r\n{}\r\n0\r\n\r\n",
    )
    head = f"POST /predict HTTP/1.1\r\nhost: a\r\ncontent-type: {JSON}\r\n"
    text = f"{head}transfer-encoding: chunked\r\n\r\n{rng.choice(bodies)}"
    return Case("chunked", [text.encode()])


def heads(rng):
    methods = ("GET", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT", "X" * 99)
    paths = (
        "/",
        "/predict",
        "/ask",
        "/../../etc/passwd",
        "/%00",
        "/%ff",
        "/" + "a" * 9_000,
    )
    paths += ("*", "//", "/predict/", "/predict?rows=1", "/schema%2e", "http://a/b")
    more = [
        rng.choice(["x" * 200 + ": y", "upgrade: websocket\r\nconnection: upgrade"])
    ]
    whole = request("", JSON, rng.choice(methods), rng.choice(paths), more)
    return Case("heads", [whole])


def noise(rng):
    junk = rng.randbytes(rng.choice([1, 10, 1_000]))
    starts = (b"", b"GET ", b"POST /predict HTTP/1.1\r\n", b"PRI * HTTP/2.0\r\n\r\nSM")
    return Case("noise", [rng.choice(starts) + junk + b"\r\n\r\n"])


def asked(rng):
    rows = {rng.choice([*COLUMNS, "q"]): value(rng) for _ in range(rng.randrange(4))}
    return Case("ask", [request(json.dumps(rows), path="/ask")])


def watched(rng):
    """Ask what has changed: by bodies, methods and questions that nobody expects."""
    method = rng.choice(["GET", "GET", "POST", "HEAD", "PUT"])
    path = rng.choice(["/watch", "/watch?rows=-1", "/watch/", "/watch#a", "/WATCH"])
    body = rng.choice(["", json.dumps(value(rng)), "[" * 10_000])
    return Case("watch", [request(body, method=method, path=path)])


KINDS = (wrong_types, deep, numbers, types, bad_text, broken, csv, arrow, large)
KINDS += (many_rows, lengths, slow, gone, smuggled, chunked, heads, noise, asked)
KINDS += (watched,)


def case(number):
    """Return the case of a number."""
    return KINDS[number % len(KINDS)](random.Random(number))


def fault(one, port):
    """Send a case; return what is wrong with what comes back, or ""."""
    start = time.monotonic()
    try:
        said = _said(one, port)
    except TimeoutError:
        return f"{one.kind}: no answer after {time.monotonic() - start:.0f} seconds"
    if said is None or not said:
        return f"{one.kind}: no answer" if one.answered and said is not None else ""
    head, _, body = said.partition(b"\r\n\r\n")
    status = int(head[9:12])
    if status >= 500 and status not in (501, 503, 505):
        return f"{one.kind}: {status}"
    is_head = one.parts[0].startswith(b"HEAD")
    if status >= 400 and not is_head and list(json.loads(body)) != ["error"]:
        return f"{one.kind}: {status} {body[:200]!r}"
    return "a traceback" if b"Traceback" in body else ""


def _said(one, port):
    """Return the first answer to a case, None where the connection was cut."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as sock:
        try:
            for k, part in enumerate(one.parts):
                if k:
                    time.sleep(PAUSE)
                sock.sendall(part)
            if not one.answered and one.kind == "gone away":
                return b""
            return _first_answer(sock)
        except ConnectionError:
            return None


def _first_answer(sock):
    found = b""
    while chunk := sock.recv(65_536):
        found += chunk
        head, end, body = found.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
        if end and len(body) >= int(length or 0):
            return head + end + body[: int(length or 0)]
    return found
