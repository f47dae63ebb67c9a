#!/usr/bin/env python3
"""Measures how soon a screen shows the present of a deployment whose stream holds a long history.

    tests/perf/history.py target/release/kvtop [--messages 1000000] [--workers 8]

A stream of Dynamo 0.9 in a nats-server of its own (NATS_SERVER_BIN, the PATH, or target/tools) is filled with KV events
of seven workers. Then an eighth one begins, all of them publish 400 events a second, and kvtop is attached in a
pseudo-terminal of 120x36. Printed are the time to its first picture, to the first one that shows the eighth worker, and
until the server has been asked for every stored message, beside a bare client that asks for 100,000 of them in the same
way (256 requests at once) and throws the answers away. The exit code is 1 when the eighth worker is not shown within two
seconds, or when reading takes a quarter longer than the bare client would.
"""

import argparse
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import live

STREAM = "namespace-dynamo-component-backend-kv-events"
SUBJECT = f"{STREAM}.kv-events".encode()
AT_ONCE = 256
BARE = 100_000
LIVE_RATE = 400
SHOWN_WITHIN = 2.0
LONGER = 1.25


class Worker:
    """A publisher of Dynamo 0.9 with a cache of a few chains of blocks. It stores one and removes the oldest one."""

    def __init__(self, index):
        self.id = random.Random(index).getrandbits(60)
        self.number = 0
        chains = [[[random.getrandbits(64) for _ in range(8)] for _ in range(4)] for _ in range(12)]
        self.cycle = []
        for at, chain in enumerate(chains):
            parent = None
            for blocks in chain:
                stored = [{"block_hash": it, "tokens_hash": it, "mm_extra_info": None} for it in blocks]
                self.cycle.append({"stored": {"parent_hash": parent, "blocks": stored}})
                parent = blocks[-1]
            for blocks in reversed(chains[(at + 2) % len(chains)]):
                self.cycle.append({"removed": {"block_hashes": blocks}})
        self.cycle = [json.dumps(data, separators=(",", ":")) for data in self.cycle]

    def message(self, reply=b""):
        data = self.cycle[self.number % len(self.cycle)]
        event = f'{{"worker_id":{self.id},"event":{{"event_id":{self.number},"data":{data},"dp_rank":0}}}}'.encode()
        self.number += 1
        return b"PUB %s %s%d\r\n%s\r\n" % (SUBJECT, reply, len(event), event)


class Client:
    """A connection that asks a server, and answers its pings."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.reader = self.socket.makefile("rb", buffering=1 << 20)
        self.reader.readline()
        self.socket.sendall(b'CONNECT {"verbose":false}\r\nSUB inbox 1\r\n')

    def answer(self):
        while line := self.reader.readline():
            if line.startswith(b"MSG"):
                return self.reader.read(int(line.split()[-1]) + 2)
            if line.startswith(b"PING"):
                self.socket.sendall(b"PONG\r\n")
        sys.exit("the server closed the connection")

    def ask(self, subject, body=""):
        self.send(subject, [body])
        return json.loads(self.answer())

    def send(self, subject, bodies):
        self.socket.sendall(b"".join(b"PUB %s inbox %d\r\n%s\r\n" % (subject.encode(), len(it), it.encode()) for it in bodies))


def bare(port, last, count):
    """Returns the messages a second that the cheapest client would read."""
    client, subject = Client(port), f"$JS.API.STREAM.MSG.GET.{STREAM}"
    asked, answered = last - count, last - count
    start = time.monotonic()
    while answered < last:
        more = min(AT_ONCE - (asked - answered), last - asked)
        if more >= 32 or asked + more == last and more:
            client.send(subject, [f'{{"seq":{asked + at + 1}}}' for at in range(more)])
            asked += more
        client.answer()
        answered += 1
    return count / (time.monotonic() - start)


def requests(monitor):
    """Returns how many messages kvtop has sent to the server."""
    with urllib.request.urlopen(f"http://127.0.0.1:{monitor}/connz") as page:
        connections = json.load(page)["connections"]
    return sum(it["in_msgs"] for it in connections if it.get("name", "").startswith("kvtop"))


def publish(port, crew, stopped):
    client, start, sent = Client(port), time.monotonic(), 0
    while not stopped.is_set():
        due = int((time.monotonic() - start) * LIVE_RATE) - sent
        client.socket.sendall(b"".join(crew[(sent + at) % len(crew)].message() for at in range(due)))
        sent += due
        time.sleep(0.01)


def server(folder):
    program = live.server_program()
    ports = []
    for _ in range(2):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(free.getsockname()[1])
    told = [program, "-a", "127.0.0.1", "-p", str(ports[0]), "-m", str(ports[1]), "-js", "-sd", folder]
    process = subprocess.Popen(told, stderr=subprocess.DEVNULL)
    while True:
        try:
            return process, *ports, Client(ports[0])
        except OSError:
            time.sleep(0.05)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("kvtop")
    words.add_argument("--messages", type=int, default=1_000_000)
    words.add_argument("--workers", type=int, default=7)
    options = words.parse_args()
    folder = tempfile.mkdtemp(prefix="kvtop-perf-")
    os.environ.update(XDG_STATE_HOME=folder, XDG_CONFIG_HOME=folder)
    nats, port, monitor, client = server(folder)
    config = {"name": STREAM, "subjects": [f"{STREAM}.*"], "storage": "file", "max_age": 3_600 * 10**9}
    answer = client.ask(f"$JS.API.STREAM.CREATE.{STREAM}", json.dumps(config))
    if "error" in answer:
        sys.exit(f"no stream: {answer['error']}")
    crew = [Worker(index) for index in range(options.workers)]
    for begin in range(0, options.messages, 1_000):
        count = min(1_000, options.messages - begin)
        # The stream says so once it has stored the last of them.
        replies = [b""] * (count - 1) + [b"inbox "]
        batch = [crew[(begin + at) % len(crew)].message(reply) for at, reply in enumerate(replies)]
        client.socket.sendall(b"".join(batch))
        client.answer()
    speed = bare(port, options.messages, min(BARE, options.messages))
    stopped = threading.Event()
    crew.append(Worker(options.workers))
    threading.Thread(target=publish, args=(port, crew, stopped), daemon=True).start()
    start = time.monotonic()
    kvtop = live.Terminal([options.kvtop, "--nats-url", f"nats://127.0.0.1:{port}"])
    first = shown = None
    newest = b"w%d" % options.workers
    while requests(monitor) < options.messages or shown is None:
        said = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b" ", bytes(kvtop.text))
        now = time.monotonic() - start
        if first is None and b"kvtop" in said:
            first = now
        if shown is None and newest in said:
            shown = now
        if now > 300:
            sys.exit("nothing of it within five minutes")
        time.sleep(0.02)
    whole = time.monotonic() - start
    limit = options.messages / speed
    met = shown <= SHOWN_WITHIN and whole <= limit * LONGER
    print(f"first picture          {first:7.2f} s")
    print(f"the newest worker      {shown:7.2f} s  {'PASS' if shown <= SHOWN_WITHIN else f'FAIL (at most {SHOWN_WITHIN})'}")
    print(f"all {options.messages} messages   {whole:7.2f} s  {'PASS' if whole <= limit * LONGER else 'FAIL'}")
    print(f"a bare client          {limit:7.2f} s, {speed:.0f} messages/s")
    print(f"resident memory        {kvtop.resident():7.1f} MB")
    stopped.set()
    kvtop.end()
    nats.terminate()
    nats.wait()
    shutil.rmtree(folder, ignore_errors=True)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
