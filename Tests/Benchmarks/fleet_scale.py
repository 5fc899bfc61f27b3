#!/usr/bin/python3
"""What one etcd takes of a fleet: simulated devices with three sessions each, over the JSON gateway.

Usage: fleet_scale.py DEVICES [DEVICES…]

Prints for each number of devices: publications and lists per second on 32 connections; etcd's memory and database before
and after a watch for each device; the time from an order's transaction to the event at its device (median, 99th of 100),
by a watch; and the processor time of etcd while all watches are idle. The devices speak etcd's gateway as fleet run does,
with values of random bytes of the usual length, and run on the same machine. Nothing is asserted.
"""
import asyncio
import base64
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Fleet"))
from fleet_parts import Etcd  # noqa: E402: its folder must be on the path first

CONNECTIONS, SESSIONS, VALUE, ORDERS, IDLE = 32, 3, 300, 100, 10


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def user(number):
    return f"/tokenkeep/home/1/users/{number // 4:032x}/"  # four devices a user


def put(key):
    value = base64.b64encode(os.urandom(VALUE)).decode()
    return {"compare": [], "success": [{"request_put": {"key": encoded(key), "value": value}}]}


def prefix(key):
    return {"key": encoded(key), "range_end": encoded(key[:-1] + chr(ord(key[-1]) + 1))}


class Connection:
    def __init__(self, port):
        self.port = port

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
        return self

    async def send(self, path, body):
        text = json.dumps(body).encode()
        self.writer.write(f"POST {path} HTTP/1.1\r\nHost: e\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
        await self.writer.drain()

    async def head(self):
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        assert " 200 " in lines[0], lines
        return dict(line.split(": ", 1) for line in lines[1:] if line)

    async def post(self, path, body):
        await self.send(path, body)
        headers = await self.head()
        if "content-length" in headers:
            return json.loads(await self.reader.readexactly(int(headers["content-length"])))
        whole = b""
        while chunk := await self.chunk():
            whole += chunk
        return json.loads(whole)

    async def chunk(self):
        size = int(await self.reader.readline(), 16)
        data = await self.reader.readexactly(size + 2)
        return data[:-2]


async def rate(port, work):
    """Calls per second of (path, body) pairs on all connections."""
    queue = list(work)
    count = len(queue)

    async def worker():
        connection = await Connection(port).open()
        while queue:
            await connection.post(*queue.pop())
        connection.writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(CONNECTIONS)))
    return count / (time.perf_counter() - began)


def memory(etcd):
    with open(f"/proc/{etcd.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def processor(etcd):
    with open(f"/proc/{etcd.process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(etcd, devices):
    port = etcd.port
    work = [("/v3/kv/txn", put(f"{user(number)}sessions/{session:032x}/{number:016x}"))
            for number in range(devices) for session in range(SESSIONS)]
    publications = await rate(port, work)
    lists = await rate(port, [("/v3/kv/range", prefix(user(number))) for number in range(min(devices, 2000))])
    before = memory(etcd)
    watches, arrived = [], asyncio.Queue()

    async def watch(number):
        connection = await Connection(port).open()
        await connection.send("/v3/watch", {"create_request": prefix(f"{user(number)}orders/{number:016x}/")})
        await connection.head()
        await connection.chunk()
        watches.append(connection)
        while b"events" not in (await connection.chunk()):
            pass
        arrived.put_nowait((number, time.perf_counter()))

    tasks = []
    for start in range(0, devices, 100):
        tasks += [asyncio.create_task(watch(number)) for number in range(start, min(start + 100, devices))]
        while len(watches) < len(tasks):
            await asyncio.sleep(0.01)
    after, spent = memory(etcd), processor(etcd)
    await asyncio.sleep(IDLE)
    idle = (processor(etcd) - spent) / IDLE
    orders = await Connection(port).open()
    delays = []
    for number in range(0, devices, max(1, devices // ORDERS)):
        began = time.perf_counter()
        await orders.post("/v3/kv/txn", put(f"{user(number)}orders/{number:016x}/{number:032x}"))
        _, came = await arrived.get()
        delays.append((came - began) * 1000)
    for task in tasks:
        task.cancel()
    size = os.path.getsize(f"{etcd.directory}/data/member/snap/db") / 1e6
    delays.sort()
    print(f"{devices} devices: {publications:.0f} publications/s, {lists:.0f} lists/s; etcd {before:.0f} MiB, with a watch each "
          f"{after:.0f} MiB ({(after - before) * 1024 / devices:.0f} KiB a watch), {idle * 100:.1f} % of a core idle; "
          f"order to event {statistics.median(delays):.1f} ms median, {delays[int(len(delays) * 0.99) - 1]:.1f} ms 99th; "
          f"database {size:.1f} MB", flush=True)


def main():
    print(subprocess.run(["etcd", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0],
          "load", os.getloadavg()[0], flush=True)
    for devices in map(int, sys.argv[1:]):
        with tempfile.TemporaryDirectory(prefix="fleet-scale.") as directory:
            etcd = Etcd(f"{directory}/etcd").start()
            try:
                asyncio.run(measure(etcd, devices))
            finally:
                etcd.stop()


if __name__ == "__main__":
    main()
