"""A publisher of real libzmq for tests.

Takes a port (0 for any). Reads messages from its input, one a line: parts in base64 between spaces,
"-" for an empty one. Writes a line for what happens to it: its port, connections, subscriptions.
"""

import base64
import os
import sys

import zmq
from zmq.utils.monitor import recv_monitor_message

context = zmq.Context()
# An XPUB is a PUB that tells of subscriptions, so that a test knows when to publish.
socket = context.socket(zmq.XPUB)
# As in dynamo-runtime 0.9.0, transports/event_plane/zmq_transport.rs:26.
socket.setsockopt(zmq.SNDHWM, 100_000)
# One socket to replace another on the same port.
socket.setsockopt(zmq.LINGER, 0)
monitor = socket.get_monitor_socket()
socket.bind(f"tcp://127.0.0.1:{sys.argv[1]}")


def say(*words):
    print(*words, flush=True)


say("port", socket.getsockopt(zmq.LAST_ENDPOINT).decode().rstrip("\0").rsplit(":", 1)[1])
poller = zmq.Poller()
for source in (socket, monitor, sys.stdin.fileno()):
    poller.register(source, zmq.POLLIN)
rest = b""
while True:
    ready = dict(poller.poll())
    if socket in ready:
        told = socket.recv()
        say("subscribed" if told[:1] == b"\1" else "unsubscribed", told[1:].decode())
    if monitor in ready:
        event = recv_monitor_message(monitor)["event"]
        if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            say("connected")
        elif event == zmq.EVENT_DISCONNECTED:
            say("disconnected")
    if sys.stdin.fileno() in ready:
        data = os.read(sys.stdin.fileno(), 1 << 20)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            socket.send_multipart(
                [b"" if part == b"-" else base64.b64decode(part) for part in line.split(b" ")]
            )
        if lines:
            say("sent", len(lines))
