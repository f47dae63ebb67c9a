"""tap.py ENDPOINT…: counts what engines say of their own blocks, apart from kvtop.

Prints a line of JSON for each endpoint whenever somebody writes a line to it."""

import json
import sys
import threading

import msgpack
import zmq

counts = {}


def listen(endpoint, count):
    socket = zmq.Context.instance().socket(zmq.SUB)
    socket.setsockopt(zmq.RCVHWM, 0)
    socket.setsockopt(zmq.SUBSCRIBE, b"")
    socket.connect(endpoint)
    held = set()
    while True:
        batch = msgpack.unpackb(socket.recv_multipart()[2], raw=False, strict_map_key=False)
        for event in batch[1]:
            kind = event["type"] if isinstance(event, dict) else event[0]
            if kind == "AllBlocksCleared":
                held.clear()
                count["cleared"] += 1
                count["held"] = 0
                continue
            blocks = event["block_hashes"] if isinstance(event, dict) else event[1]
            if kind == "BlockStored":
                held.update(map(str, blocks))
                count["block_size"] = event["block_size"] if isinstance(event, dict) else event[4]
            elif kind == "BlockRemoved":
                held.difference_update(map(str, blocks))
            count["held"] = len(held)


for endpoint in sys.argv[1:]:
    counts[endpoint] = {"endpoint": endpoint, "held": 0, "cleared": 0, "block_size": None}
    threading.Thread(target=listen, args=(endpoint, counts[endpoint]), daemon=True).start()
for _ in sys.stdin:
    for count in counts.values():
        print(json.dumps(count), flush=True)
