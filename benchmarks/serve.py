"""The server under load: requests a second, delays at half the load, memory over time.

A model of the default predictor is fitted to 6,000 simulated rows of 16 columns (or
given by --model with rows of its table by --rows) and served by a process of its own.
Every request is one row as JSON, with its missing values left out. First 16 connections
ask as fast as they are answered: for each of 1,000 rows once, so that the server meets
their missing patterns, and then for ten seconds. Then requests start at a fixed rate,
and the delay of each counts from the moment at which it was due; that goes on for
--minutes, while the memory of the server is read every second. At last SIGTERM comes
while 16 connections ask, and what was sent and not answered is counted. All of it
shares the cores of one machine.

    python benchmarks/serve.py                      # the bars: about 11 minutes
    python benchmarks/serve.py --minutes 0.2        # a short run
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path

import numpy as np
import pandas as pd

import missfit

FEATURES = 16
CONNECTIONS = 16
SATURATED_SECONDS = 10.0
RATE = 150  # requests a second: half of the 300 that the server must reach
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def simulated_model(folder):
    """Fit the default to a simulated table; return its model file and new rows."""
    law = missfit.simulate.published("mixture1", FEATURES)
    X, y = law.sample(7_000, random_state=0)
    y = y + 2 * np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1])  # something for trees
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(FEATURES)])
    missfit.fit_table(frame[:6_000], y[:6_000]).save(folder / "model.skops")
    return folder / "model.skops", frame[6_000:]


def requests_of(frame):
    """Return rows as bytes of HTTP, one request each."""
    found = []
    for row in frame.to_dict("records"):
        body = json.dumps({k: v for k, v in row.items() if pd.notna(v)}).encode()
        head = (
            "POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/"
            f"json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        found.append(head.encode() + body)
    return found


class Client:
    """One connection that is kept."""

    async def open(self, port):
        """Connect to the server."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port)
        return self

    async def ask(self, request):
        """Send a request and read its answer; return the status."""
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await self.reader.readexactly(length)
        self.told_to_end = b"connection: close" in head.lower()
        return int(head[9:12])


async def saturated(port, requests, seconds=None):
    """Return how many requests were answered per second.

    For some seconds, or until each request was answered once.
    """
    end, count = time.perf_counter() + (seconds or np.inf), 0
    todo = cycle(requests) if seconds else iter(requests)

    async def go():
        nonlocal count
        client = await Client().open(port)
        while time.perf_counter() < end and (request := next(todo, None)):
            assert await client.ask(request) == 200
            count += 1

    start = time.perf_counter()
    await asyncio.gather(*(go() for _ in range(CONNECTIONS)))
    return count / (time.perf_counter() - start)


async def steady(port, requests, rate, seconds, pid):
    """Return the delays of requests that start at a rate, and the memory by second."""
    free: asyncio.Queue = asyncio.Queue()
    for _ in range(4 * CONNECTIONS):
        free.put_nowait(await Client().open(port))
    delays, memory, tasks = [], [], set()

    async def one(k, due):
        client = await free.get()
        assert await client.ask(requests[k % len(requests)]) == 200
        free.put_nowait(client)
        delays.append(time.perf_counter() - due)

    start = time.perf_counter()
    for k in range(int(rate * seconds)):
        due = start + k / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        task = asyncio.create_task(one(k, due))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        if k % rate == 0:
            memory.append(resident(pid))
    await asyncio.gather(*tasks)
    return np.array(delays), np.array(memory)


async def stopped(port, requests, server):
    """Stop the server under load; return the answers after it, and what was lost.

    Lost is a request that was sent on an open connection before any answer on it said
    that the connection ends, and that has no answer.
    """
    signalled, after, lost = False, 0, 0

    async def go(k):
        nonlocal after, lost
        client = await Client().open(port)
        try:
            while True:
                await client.ask(requests[k])
                after += signalled
                if client.told_to_end:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            lost += 1

    tasks = [asyncio.create_task(go(k)) for k in range(CONNECTIONS)]
    await asyncio.sleep(1.0)
    server.terminate()
    signalled = True
    await asyncio.gather(*tasks)
    return after, lost


def resident(pid):
    """Return the megabytes that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 2**20


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def started(model):
    """Start the server; return its process and port."""
    command = [sys.executable, "-m", "missfit", "serve", str(model), "--port", "0"]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    return server, int(server.stdout.readline().rsplit(":", 1)[1])


def measure(model, frame, minutes):
    requests = requests_of(frame)
    server, port = started(model)
    try:
        start = cpu_seconds(server.pid)
        first = asyncio.run(saturated(port, requests))
        before = cpu_seconds(server.pid)
        per_second = asyncio.run(saturated(port, requests, SATURATED_SECONDS))
        cpu = cpu_seconds(server.pid) - before
        delays, memory = asyncio.run(
            steady(port, requests, RATE, 60 * minutes, server.pid)
        )
        after, lost = asyncio.run(stopped(port, requests, server))
    finally:
        server.terminate()
        code = server.wait()
    n_requests, n_rows = per_second * SATURATED_SECONDS, len(requests)
    print("| measured | value | bar |\n|---|---|---|")
    print(f"| {n_rows} rows, each for the first time, a second | {first:.0f} | |")
    print(
        f"| CPU of the server for each | {1e3 * (before - start) / n_rows:.2f} ms | |"
    )
    print(f"| single-row requests a second | {per_second:.0f} | at least 300 |")
    print(f"| CPU of the server for each | {1e3 * cpu / n_requests:.2f} ms | |")
    for share in (0.5, 0.99, 0.999):
        bar = "under 50 ms" if share == 0.99 else ""
        delay = 1e3 * np.quantile(delays, share)
        print(f"| p{100 * share:g} at {RATE} a second | {delay:.1f} ms | {bar} |")
    tenth = max(1, len(memory) // 10)
    first, last = memory[tenth : 2 * tenth].mean(), memory[-tenth:].mean()
    print(
        f"| memory after a tenth of {minutes:g} minutes, and at the end | "
        f"{first:.1f} MB, {last:.1f} MB | no growth |"
    )
    print(f"| requests lost at SIGTERM under load, of {after} under way | {lost} | 0 |")
    print(f"| exit code after SIGTERM | {code} | 0 |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--rows", type=Path, help="A CSV file with the model's columns")
    parser.add_argument("--minutes", type=float, default=10.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.model:
            frame = pd.read_csv(arguments.rows, nrows=1_000)
            model = arguments.model
        else:
            model, frame = simulated_model(Path(folder))
        measure(model, frame, arguments.minutes)


if __name__ == "__main__":
    main()
