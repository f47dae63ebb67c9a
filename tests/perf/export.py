#!/usr/bin/env python3
"""Measures `kvtop export` beside 10,000 workers that publish KV events, scraped as Prometheus does.

    tests/perf/export.py target/release/kvtop [--levels fleet,worker,rank] [--rates 0,1000,5000] [--seconds 60]

Workers as in live.py publish through a nats-server. Each first stores what its cache holds; then all of them together
publish at one rate after the other. The page is read every 15 seconds, compressed with gzip, as Prometheus accepts it.
Processor time is read from /proc: between scrapes, and with them. At rates above 0 it includes reading the events.
Losses are those that the page itself tells, and events that were published and not read. The goals are those of
docs/PERFORMANCE.md; the exit code is 1 when one is missed.
"""

import argparse
import gzip
import http.client
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from live import CHAIN, CHAINS, TICK, Worker, server

WORKERS = 10_000
# Time between two scrapes: that of Prometheus' own examples.
EVERY = 15
# Events a second while workers store what they hold.
FILL = 10_000
# Share of a core between scrapes without events, and milliseconds of a scrape.
SHARE_GOAL, SCRAPE_GOAL_MS = 5.0, 300.0
ACCEPT = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"


def publish(port, workers, chains):
    """Publishes at the rates that are read from standard input, and prints how many events were sent so far."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.recv(4096)
    connection.sendall(b'CONNECT {"verbose":false}\r\n')
    crew = [Worker(index, chains=chains) for index in range(workers)]
    print(0, flush=True)
    rate, base, sent, start = 0, 0, 0, time.monotonic()
    while True:
        due = base + int((time.monotonic() - start) * rate) - sent
        if due > 0:
            connection.sendall(b"".join(crew[(sent + at) % workers].message() for at in range(due)))
            sent += due
        readable = select.select([connection, sys.stdin], [], [], 0)[0]
        if connection in readable and b"PING" in connection.recv(4096):
            connection.sendall(b"PONG\r\n")
        if sys.stdin in readable:
            word = sys.stdin.readline()
            if not word:
                return
            rate, base, start = int(word), sent, time.monotonic()
            print(sent, flush=True)
        time.sleep(TICK if rate else 0.05)


class Publisher:
    """A process that publishes."""

    def __init__(self, port, workers, chains):
        command = [sys.executable, __file__, "publish", str(port), str(workers), str(chains)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def rate(self, rate):
        """Changes the rate, and returns how many events were sent before."""
        self.process.stdin.write(f"{rate}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Exporter:
    """A running `kvtop export`."""

    def __init__(self, kvtop, port, level, home):
        command = [kvtop, "export", "--nats-url", f"nats://127.0.0.1:{port}", "--listen", "127.0.0.1:0"]
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "KVTOP_"))}
        command += ["--metrics-level", level]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment | {"HOME": home})
        self.port = int(re.search(r"://127\.0\.0\.1:(\d+)/", self.process.stderr.readline()).group(1))

    def spent(self):
        """Returns seconds of processor time."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Returns resident megabytes: now, and at most so far."""
        with open(f"/proc/{self.process.pid}/status") as status:
            known = dict(line.split(":", 1) for line in status)
        return [int(known[name].split()[0]) * 1024 / 1e6 for name in ("VmRSS", "VmHWM")]

    def scrape(self):
        """Returns the page, its compressed size, and the milliseconds until it was here."""
        start = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", "/metrics", headers={"Accept": ACCEPT, "Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        packed = answer.read()
        took = (time.monotonic() - start) * 1e3
        connection.close()
        if answer.status != 200:
            sys.exit(f"a scrape was answered with {answer.status}: {packed[:200]}")
        return gzip.decompress(packed).decode(), len(packed), took

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def total(page, name, label=""):
    """Returns the sum of the samples of a metric with that label; none where there is no sample."""
    lines = re.findall(rf"^{name}(\{{[^}}]*\}})? (\S+)$", page, re.MULTILINE)
    found = [float(value) for labels, value in lines if label in labels]
    return sum(found) if found else None


def losses(page):
    """Returns the figures of the page that say what was lost."""
    lost = {"frames dropped": total(page, "kvtop_source_dropped_total"), "gaps": total(page, "kvtop_source_gaps_total")}
    for fate in ("dropped", "missing", "unseen"):
        lost[f"stream messages {fate}"] = total(page, "kvtop_stream_messages", f'fate="{fate}"')
    lost["event ids missing"] = total(page, "kvtop_worker_missing_events")
    return {name: value for name, value in lost.items() if value is not None}


def measure(exporter, seconds):
    """Scrapes and waits in turn; returns the shares of a core between scrapes and with them, and the scrapes."""
    begun, between, idle, scrapes = (time.monotonic(), exporter.spent()), 0.0, 0.0, []
    while time.monotonic() - begun[0] < seconds:
        scrapes.append(exporter.scrape())
        # The page that was sent is let go of within a moment.
        time.sleep(0.5)
        start, spent = time.monotonic(), exporter.spent()
        time.sleep(EVERY - 0.5)
        between, idle = between + exporter.spent() - spent, idle + time.monotonic() - start
    whole = (exporter.spent() - begun[1]) / (time.monotonic() - begun[0])
    return between / idle * 100, whole * 100, scrapes


def verdict(good, goal):
    return "PASS" if good else f"FAIL ({goal})"


def play(options, level, home):
    """Measures at one level of metrics, and returns whether every goal was met."""
    nats, port = server()
    exporter = Exporter(options.kvtop, port, level, home)
    publisher = Publisher(port, options.workers, options.chains)
    held, sent, met = options.workers * options.chains * CHAIN, 0, True
    publisher.rate(FILL)
    while sent < held:
        time.sleep(0.5)
        sent = publisher.rate(FILL)
    publisher.rate(0)
    # Until the index copy is in order and nothing of the beginning is new any more.
    time.sleep(EVERY)
    for rate in options.rates:
        publisher.rate(rate)
        time.sleep(2)
        (between, whole, scrapes), memory = measure(exporter, options.seconds), exporter.memory()
        sent = publisher.rate(0)
        time.sleep(2)
        page, packed, _ = exporter.scrape()
        lost, times = losses(page), sorted(took for _, _, took in scrapes)
        events = total(page, "kvtop_source_frames_total", 'source="nats"')
        lost["events not read"] = sent - (events or 0)
        print(f"{level}, {options.workers} workers, {rate} events/s", flush=True)
        good = rate > 0 or between <= SHARE_GOAL
        said = verdict(good, f"at most {SHARE_GOAL} %") if rate == 0 else ""
        print(f"  between scrapes {between:.1f} % of a core, with them {whole:.1f} %  {said}")
        quick = times[-1] <= SCRAPE_GOAL_MS
        said = verdict(quick, f"at most {SCRAPE_GOAL_MS} ms")
        sizes = f"{packed / 1e6:.2f} MB of {len(page) / 1e6:.1f} MB"
        print(f"  scrape, median {times[len(times) // 2]:.0f} ms, longest {times[-1]:.0f} ms, {sizes}  {said}")
        print(f"  memory {memory[0]:.0f} MB, at most {memory[1]:.0f} MB")
        nothing = not any(lost.values()) and total(page, "kvtop_workers") == options.workers
        told = ", ".join(f"{name} {value:.0f}" for name, value in lost.items())
        print(f"  {told} of {sent} published  {verdict(nothing, 'nothing lost, every worker known')}", flush=True)
        met &= good and quick and nothing
    exporter.end()
    publisher.end()
    nats.terminate()
    nats.wait()
    return met


def main():
    words = argparse.ArgumentParser()
    words.add_argument("kvtop")
    words.add_argument("--levels", default="fleet,worker,rank")
    words.add_argument("--rates", default="0,1000,5000")
    words.add_argument("--seconds", type=float, default=60)
    words.add_argument("--workers", type=int, default=WORKERS)
    words.add_argument("--chains", type=int, default=CHAINS, help="chains of 60 blocks that a worker holds")
    options = words.parse_args()
    options.rates = [int(rate) for rate in options.rates.split(",")]
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    home = tempfile.mkdtemp(prefix="kvtop-perf-")
    met = [play(options, level, home) for level in options.levels.split(",")]
    shutil.rmtree(home, ignore_errors=True)
    return 0 if all(met) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["publish"]:
        publish(*(int(word) for word in sys.argv[2:5]))
    else:
        sys.exit(main())
