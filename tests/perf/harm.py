#!/usr/bin/env python3
"""Measures what kvtop costs a publisher at its maximum, beside a subscriber that reads and throws away.

    tests/perf/harm.py target/release/kvtop [--events 100000] [--rounds 5]

The same events as in live.py go to a nats-server as fast as it takes them: with nobody listening, with the control
subscriber, and with kvtop's screen at 120x36, in turn. A round's rate is that of the publisher until the server has
answered a ping after the last event. The exit code is 1 when kvtop costs more than the control subscriber by more
than a tenth (docs/PERFORMANCE.md).
"""

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import live

ROOM = 1.1


def connected(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.recv(4096)
    connection.sendall(b'CONNECT {"verbose":false}\r\n')
    return connection


def subscribe(port):
    """Reads every message and throws it away, as the cheapest subscriber would."""
    connection = connected(port)
    connection.sendall(b"SUB namespace.> 1\r\nPING\r\n")
    buffer = bytearray(1 << 20)
    first = True
    while count := connection.recv_into(buffer):
        if first:
            print("ready", flush=True)
            first = False
        if b"PING\r\n" in buffer[: min(count, 64)]:
            connection.sendall(b"PONG\r\n")


def events(crew, count):
    """Returns so many events as buffers of a hundred."""
    lots = range(0, count, 100)
    return [b"".join(crew[at % len(crew)].message() for at in range(lot, lot + 100)) for lot in lots]


def rate(port, lots):
    """Publishes `lots` and returns the events a second until the server has taken the last."""
    connection = connected(port)
    start = time.monotonic()
    for lot in lots:
        connection.sendall(lot)
    connection.sendall(b"PING\r\n")
    answer = b""
    while b"PONG" not in answer:
        answer = connection.recv(4096)
        if b"PING" in answer:
            connection.sendall(b"PONG\r\n")
    span = time.monotonic() - start
    connection.close()
    return len(lots) * 100 / span


def round_of(name, options):
    """Returns the publisher's rate on a server of its own, with one subscriber of that name."""
    nats, port = live.server()
    crew = [live.Worker(index) for index in range(options.workers)]
    first = events(crew, len(crew) * len(crew[0].first))
    lots = events(crew, options.events)
    listener = None
    if name == "control":
        command = [sys.executable, __file__, "subscribe", str(port)]
        listener = subprocess.Popen(command, stdout=subprocess.PIPE)
        listener.stdout.readline()
    elif name == "kvtop":
        listener = live.Terminal([options.kvtop, "--nats-url", f"nats://127.0.0.1:{port}"])
        time.sleep(3)
    rate(port, first)
    time.sleep(1)
    reached = rate(port, lots)
    if name == "kvtop":
        listener.end()
    elif listener:
        listener.kill()
        listener.wait()
    nats.terminate()
    nats.wait()
    return reached


def main():
    words = argparse.ArgumentParser()
    words.add_argument("kvtop")
    words.add_argument("--events", type=int, default=100_000)
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--workers", type=int, default=128)
    options = words.parse_args()
    state = tempfile.mkdtemp(prefix="kvtop-perf-")
    os.environ.update(XDG_STATE_HOME=state, XDG_CONFIG_HOME=state)
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    names = ["nobody", "control", "kvtop"]
    reached = {name: [] for name in names}
    for number in range(options.rounds):
        for name in names if number % 2 == 0 else reversed(names):
            reached[name].append(round_of(name, options))
        print("  ".join(f"{name} {reached[name][-1]:,.0f}/s" for name in names), flush=True)
    ratios = [one / other for one, other in zip(reached["control"], reached["kvtop"])]
    ratio = statistics.median(ratios)
    for name in names:
        print(f"{name:8} {statistics.median(reached[name]):10,.0f} events/s")
    good = ratio <= ROOM
    print(f"control over kvtop, median of pairs: {ratio:.2f}  {'PASS' if good else f'FAIL (at most {ROOM})'}")
    shutil.rmtree(state, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["subscribe"]:
        subscribe(int(sys.argv[2]))
    else:
        sys.exit(main())
