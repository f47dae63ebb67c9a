#!/usr/bin/env python3
"""Measures what kvtop costs a publisher at its maximum, beside a subscriber that reads and throws away.

    tests/perf/harm.py target/release/kvtop [--events 400000] [--rounds 5]

The same events as in live.py are sent as fast as they are taken: to nobody, to the control subscriber, and to kvtop's
screen at 120x36, in turn; through a nats-server, and from a publisher of ZMQ where this Python has pyzmq
(target/tools/zmq/bin/python has it). A round's rate is that of the publisher until the server has answered a ping after
the last event, or the socket of ZMQ has taken the last one.

The publisher and its server run on one processor and the subscriber on another, as in a deployment: a subscriber there
can slow a publisher only by not reading. `--shared` lets all use all processors, so that they also compete for those.
The exit code is 1 when kvtop costs more than the control subscriber by more than a tenth (docs/PERFORMANCE.md).
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

try:
    import zmq
except ImportError:
    zmq = None

ROOM = 1.1
# The processors of publishers and of subscribers.
PUBLISHER, SUBSCRIBER = 0, 1
TOPIC = b"kv-events"


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


def events(crew, count, join):
    """Returns so many events in lots of a hundred."""
    lots = range(0, count, 100)
    return [join(crew[at % len(crew)].message() for at in range(lot, lot + 100)) for lot in lots]


def subscribe_zmq(port):
    """The same for a publisher of ZMQ."""
    subscriber = zmq.Context().socket(zmq.SUB)
    subscriber.subscribe(TOPIC)
    subscriber.connect(f"tcp://127.0.0.1:{port}")
    print("ready", flush=True)
    while True:
        subscriber.recv_multipart(copy=False)


class Nats:
    """A nats-server, and a publisher of bare protocol text."""

    name = "NATS"

    def __init__(self):
        self.server, self.port = live.server()

    def address(self):
        return ["--nats-url", f"nats://127.0.0.1:{self.port}"]

    def rate(self, lots):
        """Publishes `lots` and returns the events a second until the server has taken the last."""
        connection = connected(self.port)
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

    def end(self):
        self.server.terminate()
        self.server.wait()


class Zmq:
    """A publisher of ZMQ, with the limit of Dynamo's (dynamo-runtime 0.9.0, transports/event_plane/zmq_transport.rs)."""

    name = "ZMQ"

    def __init__(self):
        self.socket = zmq.Context.instance().socket(zmq.PUB)
        self.socket.setsockopt(zmq.SNDHWM, 100_000)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.port = self.socket.bind_to_random_port("tcp://127.0.0.1")

    def address(self):
        return ["--zmq", f"tcp://127.0.0.1:{self.port}"]

    def rate(self, lots):
        messages = [self.parts(event) for lot in lots for event in lot]
        start = time.monotonic()
        for message in messages:
            self.socket.send_multipart(message)
        return len(messages) / (time.monotonic() - start)

    def parts(self, event):
        envelope = event[event.index(b"\r\n") + 2 : -2]
        publisher = envelope[15:23]
        framed = b"\x01" + len(envelope).to_bytes(4, "big") + envelope
        return [TOPIC, publisher, bytes(8), framed]

    def end(self):
        self.socket.close()


def place(command, options):
    return command if options.shared else ["taskset", "-c", str(SUBSCRIBER), *command]


def round_of(name, plane, options):
    """Returns the publisher's rate on a plane of its own, with one subscriber of that name."""
    plane = plane()
    crew = [live.Worker(index) for index in range(options.workers)]
    join = b"".join if isinstance(plane, Nats) else list
    first = events(crew, len(crew) * len(crew[0].first), join)
    lots = events(crew, options.events, join)
    listener = None
    if name == "control":
        kind = "subscribe" if isinstance(plane, Nats) else "subscribe-zmq"
        command = place([sys.executable, __file__, kind, str(plane.port)], options)
        listener = subprocess.Popen(command, stdout=subprocess.PIPE)
        listener.stdout.readline()
        time.sleep(1)
    elif name == "kvtop":
        listener = live.Terminal(place([options.kvtop, *plane.address()], options))
        time.sleep(3)
    plane.rate(first)
    time.sleep(1)
    reached = plane.rate(lots)
    if name == "kvtop":
        listener.end()
    elif listener:
        listener.kill()
        listener.wait()
    plane.end()
    return reached


def compare(plane, options):
    """Prints the rates of all rounds. Returns true when kvtop costs no more than the control."""
    names = ["nobody", "control", "kvtop"]
    reached = {name: [] for name in names}
    for number in range(options.rounds):
        for name in names if number % 2 == 0 else reversed(names):
            reached[name].append(round_of(name, plane, options))
        rates = "  ".join(f"{name} {reached[name][-1]:,.0f}/s" for name in names)
        print(f"{plane.name}: {rates}", flush=True)
    ratios = [one / other for one, other in zip(reached["control"], reached["kvtop"])]
    ratio = statistics.median(ratios)
    for name in names:
        print(f"{plane.name}, {name:8} {statistics.median(reached[name]):10,.0f} events/s")
    good = ratio <= ROOM
    verdict = "PASS" if good else f"FAIL (at most {ROOM})"
    print(f"{plane.name}, control over kvtop, median of pairs: {ratio:.2f}  {verdict}", flush=True)
    return good


def main():
    words = argparse.ArgumentParser()
    words.add_argument("kvtop")
    words.add_argument("--events", type=int, default=400_000)
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--workers", type=int, default=128)
    words.add_argument("--shared", action="store_true")
    options = words.parse_args()
    if os.cpu_count() < 2:
        options.shared = True
    if not options.shared:
        os.sched_setaffinity(0, {PUBLISHER})
    state = tempfile.mkdtemp(prefix="kvtop-perf-")
    os.environ.update(XDG_STATE_HOME=state, XDG_CONFIG_HOME=state)
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    planes = [Nats, Zmq] if zmq else [Nats]
    if not zmq:
        print("ZMQ is left out: this Python has no pyzmq")
    good = [compare(plane, options) for plane in planes]
    shutil.rmtree(state, ignore_errors=True)
    return 0 if all(good) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["subscribe"]:
        subscribe(int(sys.argv[2]))
    elif sys.argv[1:2] == ["subscribe-zmq"]:
        subscribe_zmq(int(sys.argv[2]))
    else:
        sys.exit(main())
