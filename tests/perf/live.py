#!/usr/bin/env python3
"""Measures a live kvtop in a pseudo-terminal of 120x36, and btop, htop and top beside it.

    tests/perf/live.py target/release/kvtop [--rates 1000,10000,50000] [--seconds 15] [--workers 128]
    tests/perf/live.py target/release/kvtop --fleet    # 1,000 workers of 8 ranks, 5 million blocks, 200x60
    tests/perf/live.py target/release/kvtop --ten-million    # 10 million blocks, which no two workers share
    tests/perf/live.py target/release/kvtop --hour     # resident memory, minute by minute, at 1,000 events/s

A publisher of its own sends KV events in the form of Dynamo 1.6, about 730 bytes each, through a nats-server
(NATS_SERVER_BIN, the PATH, or target/tools) to kvtop: its share every two milliseconds. After five seconds of
warm-up the processor time and the voluntary context switches of all threads are read from /proc at the begin and
at the end. What kvtop lost is read from its view of events. The goals are those of docs/PERFORMANCE.md; the exit
code is 1 when one is missed.
"""

import argparse
import fcntl
import os
import pty
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

SIZE = (36, 120)
FLEET_SIZE = (60, 200)
BLOCKS = 15
CHAIN = 4
CHAINS = 6
SUBJECT = b"namespace.dynamo.component.backend.endpoint.generate.kv-events"
# Events a second: share of a core and switches a second, at most.
GOALS = {1_000: (4.0, 250), 10_000: (8.0, 250), 50_000: (25.0, 250)}
KEY_GOAL_MS = 20.0
# Workers, ranks of each, chains of a rank, and the longest time from key to screen.
FLEET = (1_000, 8, 10, 30.0)
# Chains of a worker of which 128 hold 10 million blocks.
MANY_CHAINS = 1_302
# Resident memory at most: megabytes, and bytes for each block and worker.
MEMORY_GOAL = (15.0, 40)
TICK = 0.002


def text(value):
    data = value.encode()
    return (bytes([0xA0 | len(data)]) if len(data) < 32 else b"\xd9" + bytes([len(data)])) + data


def number(value):
    return b"\xcf" + struct.pack(">Q", value)


def many(count):
    return bytes([0x90 | count]) if count < 16 else b"\xdc" + struct.pack(">H", count)


class Worker:
    """A publisher with a cache of a few chains of blocks. It stores one and removes the oldest one from its end.

    Its messages are made beforehand, all but their numbers, and come again in a cycle.
    """

    def __init__(self, index, rank=0, chains=CHAINS):
        self.id = random.Random(index).getrandbits(52) | 1
        self.rank = rank
        self.sequence = 0
        known, chains = chains, [[os.urandom(8 * BLOCKS) for _ in range(CHAIN)] for _ in range(chains + 1)]
        stores = [[self.stored(chain, at) for at in range(CHAIN)] for chain in chains]
        removals = [[self.removed(blocks) for blocks in reversed(chain)] for chain in chains]
        self.first = [message for chain in stores[:known] for message in chain]
        self.cycle = []
        for at in range(known + 1):
            self.cycle += stores[(at + known) % (known + 1)] + removals[at]

    def stored(self, chain, at):
        own = [chain[at][8 * block : 8 * block + 8] for block in range(BLOCKS)]
        parent = b"\xcf" + chain[at - 1][-8:] if at else b"\xc0"
        data = b"\x81" + text("stored") + b"\x83" + text("parent_hash") + parent
        data += text("start_position") + b"\xc0" + text("blocks") + many(BLOCKS)
        for block in own:
            data += b"\x83" + text("block_hash") + b"\xcf" + block + text("tokens_hash") + b"\xcf" + block[::-1]
            data += text("mm_extra_info") + b"\xc0"
        return self.parts(data)

    def removed(self, blocks):
        data = b"\x81" + text("removed") + b"\x81" + text("block_hashes") + many(BLOCKS)
        return self.parts(data + b"".join(b"\xcf" + blocks[at : at + 8] for at in range(0, len(blocks), 8)))

    def parts(self, data):
        """Returns a message in three parts; the event's number goes between them."""
        head = b"\x91\x84" + text("worker_id") + number(self.id) + text("storage_tier") + text("device")
        head += text("residency_domain") + text("worker") + text("event") + b"\x83" + text("event_id")
        tail = text("data") + data + text("dp_rank") + bytes([self.rank])
        size = len(head) + 9 + len(tail)
        begin = b"\x85" + text("publisher_id") + number(self.id) + text("sequence")
        middle = text("published_at") + number(1_771_252_733_000) + text("topic") + text("kv-events")
        middle += text("payload") + b"\xc5" + struct.pack(">H", size) + head
        length = len(begin) + 9 + len(middle) + 9 + len(tail)
        return b"PUB %s %d\r\n" % (SUBJECT, length) + begin, middle, tail + b"\r\n"

    def message(self):
        at = self.sequence
        known = len(self.first)
        begin, middle, end = self.first[at] if at < known else self.cycle[(at - known) % len(self.cycle)]
        self.sequence += 1
        count = number(self.sequence)
        return b"".join((begin, count, middle, count, end))


def publish(port, workers, ranks, chains, rate, seconds):
    """Publishes for so long, its share every two milliseconds, and prints how much that was."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.recv(4096)
    connection.sendall(b'CONNECT {"verbose":false}\r\n')
    crew = [Worker(index, rank, chains) for index in range(workers) for rank in range(ranks)]
    workers = len(crew)
    print("ready", flush=True)
    start = time.monotonic()
    sent = bytes_sent = 0
    while (now := time.monotonic() - start) < seconds:
        due = int(now * rate) - sent
        if due > 0:
            batch = b"".join(crew[(sent + at) % workers].message() for at in range(due))
            connection.sendall(batch)
            sent, bytes_sent = sent + due, bytes_sent + len(batch)
        if select.select([connection], [], [], 0)[0] and b"PING" in connection.recv(4096):
            connection.sendall(b"PONG\r\n")
        time.sleep(TICK)
    print(sent, bytes_sent // max(sent, 1), flush=True)


class Terminal:
    """A program in a pseudo-terminal whose output is read and counted."""

    def __init__(self, command, size=SIZE):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", LANG="C.UTF-8")
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
            os.execvp(command[0], command)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.output = 0
        self.text = bytearray()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while data := os.read(self.terminal, 65536):
                self.output += len(data)
                self.text += data
                del self.text[:-200_000]
        except OSError:
            pass

    def cost(self):
        """Returns seconds of processor time, and voluntary switches of all threads."""
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        spent = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        switches = 0
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{thread}/status") as status:
                switches += next(int(line.split()[1]) for line in status if line.startswith("voluntary"))
        return spent, switches

    def resident(self):
        with open(f"/proc/{self.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def measure(self, seconds):
        (before, earlier), output, start = self.cost(), self.output, time.monotonic()
        time.sleep(seconds)
        (after, later), span = self.cost(), time.monotonic() - start
        share = (after - before) / span * 100
        return share, (later - earlier) / span, (self.output - output) / span / 1e3, self.resident()

    def keys(self, count):
        """Opens and closes the help, and returns the milliseconds until its heading was drawn, in order."""
        times = []
        for _ in range(count):
            del self.text[:]
            start = time.monotonic()
            os.write(self.terminal, b"?")
            while b"KEYS" not in bytes(self.text).upper() and time.monotonic() - start < 2:
                time.sleep(0.0002)
            times.append((time.monotonic() - start) * 1e3)
            os.write(self.terminal, b"\x1b")
            time.sleep(0.2)
        return sorted(times)

    def lost(self):
        """Returns the messages that the view of events calls dropped and missing; none where it was not drawn."""
        del self.text[:]
        os.write(self.terminal, b"5")
        time.sleep(1.5)
        said = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", bytes(self.text)).decode(errors="replace")
        found = re.findall(r"dropped ((?:at least )?[\d.,]+[kM]?), missing ([\d.,]+[kM]?)", said)
        return found[-1] if found else None

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


def server_program():
    known = [os.environ.get("NATS_SERVER_BIN"), shutil.which("nats-server"), "target/tools/nats-server"]
    program = next((path for path in known if path and os.path.exists(path)), None)
    if program is None:
        sys.exit("no nats-server: set NATS_SERVER_BIN, or run tests/run, which fetches one into target/tools")
    return program


def server():
    program = server_program()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([program, "-a", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process, port
        except OSError:
            time.sleep(0.05)


def row(name, measured, verdict=""):
    share, switches, output, resident = measured
    print(f"{name:32} {share:7.1f} {switches:11.0f} {output:9.1f} {resident:7.1f}  {verdict}", flush=True)


def hour(program, workers, minutes=60, rate=1_000):
    """Prints the resident memory of each minute. Returns true when it grew by no more than a megabyte after the half."""
    nats, port = server()
    kvtop = Terminal([program, "--nats-url", f"nats://127.0.0.1:{port}"])
    told = [str(it) for it in (port, workers, 1, CHAINS, rate, minutes * 60 + 10)]
    sender = subprocess.Popen([sys.executable, __file__, "publish", *told], stdout=subprocess.PIPE)
    sender.stdout.readline()
    resident = []
    for minute in range(1, minutes + 1):
        time.sleep(60)
        resident.append(kvtop.resident())
        print(f"{minute:4} min {resident[-1]:7.1f} MB", flush=True)
    kvtop.end()
    sender.communicate()
    nats.terminate()
    nats.wait()
    grown = resident[-1] - resident[len(resident) // 2]
    print(f"grown in the second half: {grown:.1f} MB  {'PASS' if grown <= 1 else 'FAIL (at most 1)'}")
    return grown <= 1


def main():
    words = argparse.ArgumentParser()
    words.add_argument("kvtop")
    words.add_argument("--rates", default="1000,10000,50000")
    words.add_argument("--seconds", type=float, default=15)
    words.add_argument("--workers", type=int, default=128)
    words.add_argument("--ranks", type=int, default=1)
    words.add_argument("--chains", type=int, default=CHAINS, help="chains of 60 blocks that a rank holds")
    words.add_argument("--keys", type=int, default=60)
    words.add_argument("--fleet", action="store_true")
    words.add_argument("--ten-million", action="store_true")
    words.add_argument("--hour", action="store_true")
    options = words.parse_args()
    key_goal, size = KEY_GOAL_MS, SIZE
    if options.fleet:
        options.workers, options.ranks, options.chains, key_goal = FLEET
        options.rates, size = "50000", FLEET_SIZE
    if options.ten_million:
        options.chains, options.rates = MANY_CHAINS, "50000"
    met = True
    state = tempfile.mkdtemp(prefix="kvtop-perf-")
    os.environ.update(XDG_STATE_HOME=state, XDG_CONFIG_HOME=state)
    if options.hour:
        met = hour(options.kvtop, options.workers)
        shutil.rmtree(state, ignore_errors=True)
        return 0 if met else 1
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'':32} {'% core':>7} {'switches/s':>11} {'kB/s':>9} {'RSS MB':>7}")
    for name in ["btop", "htop", "top"]:
        if shutil.which(name):
            program = Terminal([name])
            time.sleep(3)
            row(name, program.measure(options.seconds))
            program.end()
    for rate in [int(rate) for rate in options.rates.split(",")]:
        nats, port = server()
        crew = options.workers * options.ranks
        # Until each rank has stored what it holds, and some more.
        filled = crew * options.chains * CHAIN / rate
        warm = 5 + filled if options.fleet or options.ten_million else 5
        span = warm + options.seconds + options.keys * 0.3 + 8
        told = [str(it) for it in (port, options.workers, options.ranks, options.chains, rate, span)]
        kvtop = Terminal([options.kvtop, "--nats-url", f"nats://127.0.0.1:{port}"], size)
        sender = subprocess.Popen([sys.executable, __file__, "publish", *told], stdout=subprocess.PIPE)
        sender.stdout.readline()
        time.sleep(warm)
        measured = kvtop.measure(options.seconds)
        keys = kvtop.keys(options.keys)
        lost = kvtop.lost()
        share, switches = (float("inf"), float("inf")) if options.fleet else GOALS.get(rate, (float("inf"), 250))
        good = measured[0] <= share and measured[1] <= switches
        met &= good
        row(f"kvtop, {rate} events/s", measured, "PASS" if good else f"FAIL (at most {share} %, {switches})")
        if not options.fleet:
            blocks = crew * options.chains * CHAIN * BLOCKS
            most = MEMORY_GOAL[0] + MEMORY_GOAL[1] * blocks / 1e6
            met &= measured[3] <= most
            verdict = "PASS" if measured[3] <= most else f"FAIL (at most {most:.0f})"
            print(f"  resident memory of {blocks:,} blocks: {measured[3]:.1f} MB  {verdict}")
        if keys:
            p99 = keys[min(len(keys) - 1, len(keys) * 99 // 100)]
            met &= p99 <= key_goal
            verdict = "PASS" if p99 <= key_goal else f"FAIL (at most {key_goal} ms)"
            print(f"{'  key to screen, ms':32} median {keys[len(keys) // 2]:.1f}, p99 {p99:.1f}  {verdict}")
        nothing = lost == ("0", "0")
        met &= nothing
        print(f"  dropped and missing: {lost or 'not seen'}  {'PASS' if nothing else 'FAIL'}")
        kvtop.end()
        said = sender.communicate()[0].split()
        print(f"  published {int(said[0]) / span:.0f} events/s of {int(said[1])} bytes by {crew} ranks", flush=True)
        nats.terminate()
        nats.wait()
    shutil.rmtree(state, ignore_errors=True)
    return 0 if met else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["publish"]:
        publish(*(int(word) for word in sys.argv[2:7]), float(sys.argv[7]))
    else:
        sys.exit(main())
