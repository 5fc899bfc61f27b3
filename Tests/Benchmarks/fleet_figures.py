#!/usr/bin/python3
"""A fleet's commands beside etcdctl's, and a device that has nothing to do.

Usage: fleet_figures.py PROGRAM [ROUNDS [SECONDS]]

One etcd with TLS, four devices with three sessions each. In turns, the medians of ROUNDS (10): fleet list beside `etcdctl
get` of the same keys; fleet run --once with a changed session beside etcdctl's calls for the same gets, lease and puts, a
process each; fleet sign-out --wait beside a put whose key `etcdctl watch` waits for. Then fleet run without anything to do
for SECONDS (600): resident memory, wake-ups an hour, bytes a day on the wire. Nothing is asserted.
"""
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Fleet"))
from fleet_parts import Place, Tunnel, wait_until  # noqa: E402: its folder must be on the path first
from rotating_server import RotatingServer  # noqa: E402: fleet_parts puts its folder on the path

SESSIONS, DEVICES = 3, 4
ROOT = "/tokenkeep/home/1/users/"


class CountingTunnel(Tunnel):
    """A tunnel that counts the bytes of both directions."""

    bytes = 0

    def passed(self, data):
        self.bytes += len(data)


def timed(work):
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def sides(name, rounds, ours, theirs, prepare=lambda: None):
    times = ([], [])
    for _ in range(rounds):
        for side, work in enumerate((ours, theirs)):
            prepare()
            times[side].append(timed(work))
    ours_ms, theirs_ms = (statistics.median(one) for one in times)
    print(f"{name}: {ours_ms:.0f} ms, etcdctl {theirs_ms:.0f} ms", flush=True)


def publish(etcd, user):
    """What fleet run --once asks for and writes."""
    for prefix in ("devices/", "orders/", "everywhere/", "sessions/"):
        etcd.ctl("get", user + prefix, "--prefix")
    lease = etcd.ctl("lease", "grant", "900").stdout.split()[1].decode()
    etcd.ctl("put", user + "sessions/x", "x" * 300)
    etcd.ctl("put", user + "present/x", "x" * 60, "--lease", lease)


def bare_watch(etcd):
    command = ["etcdctl", "--endpoints", etcd.url, "--cacert", etcd.authority.file, "watch", "--rev=1", "/bare"]
    watch = subprocess.Popen(
        command, stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3"})
    etcd.ctl("put", "/bare", "0")
    watch.stdout.readline()
    return watch


def beside_etcdctl(place, server, rounds):
    etcd = place.etcd(authority=place.authority())
    devices = [place.device(f"d{number}", server) for number in range(DEVICES)]
    devices[0].init(etcd)
    for device in devices[1:]:
        device.join(devices[0])
    for device in devices:
        for number in range(SESSIONS):
            device.sign_in(server, account=f"a{number}")
        device.fleet("run", "--once")
    user = ROOT + next(iter(etcd.keys(ROOT))).split("/")[5] + "/"
    desk, laptop = devices[:2]
    sides("list", rounds, lambda: desk.fleet("list", "--json"), lambda: etcd.ctl("get", user, "--prefix"))
    sides("publish", rounds, lambda: laptop.fleet("run", "--once"), lambda: publish(etcd, user),
          prepare=lambda: laptop.sign_in(server, account="a0"))
    laptop.start()
    watch = bare_watch(etcd)

    def signed_in():
        laptop.sign_in(server, account="a1")
        wait_until(lambda: desk.sessions().get(("d1", "api.example.com", "a1"), {}).get("order", "") is None, "the session")

    def seen():
        etcd.ctl("put", "/bare", "1")
        while not watch.stdout.readline().startswith(b"/bare"):
            pass

    sides("order to obeyed", rounds, lambda: desk.fleet("sign-out", "api.example.com", "a1", "--device", "d1", "--wait", "60s"),
          seen, prepare=signed_in)
    watch.kill()
    watch.wait()
    laptop.stop()
    return etcd, laptop


def process(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name + ":"))


def wake_ups(pid):
    return sum(process(f"{pid}/task/{os.path.basename(task)}", "voluntary_ctxt_switches")
               for task in glob.glob(f"/proc/{pid}/task/*"))


def idle(etcd, laptop, seconds):
    tunnel = CountingTunnel(etcd.port)
    laptop.use(f"https://127.0.0.1:{tunnel.port}")
    laptop.start()
    wait_until(lambda: tunnel.count >= 2, "the watch")
    time.sleep(10)
    pid = laptop.runner.pid
    woken, passed, began = wake_ups(pid), tunnel.bytes, time.monotonic()
    time.sleep(seconds)
    hours = (time.monotonic() - began) / 3600
    print(f"idle for {seconds:.0f} s: {process(pid, 'VmRSS') / 1024:.1f} MiB resident, {process(pid, 'RssAnon') / 1024:.1f} of its "
          f"own; {(wake_ups(pid) - woken) / hours:.0f} wake-ups an hour; {(tunnel.bytes - passed) / hours * 24 / 1e6:.2f} MB a day",
          flush=True)
    laptop.stop()
    tunnel.close()


def main():
    program, *numbers = sys.argv[1:]
    rounds, seconds = [int(number) for number in numbers] + [10, 600][len(numbers):]
    print(subprocess.run(["etcd", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0],
          "load", os.getloadavg()[0], flush=True)
    with tempfile.TemporaryDirectory(prefix="fleet-figures.") as directory, RotatingServer(3600) as server:
        with Place(os.path.realpath(program), f"{directory}/place") as place:
            idle(*beside_etcdctl(place, server, rounds), seconds)


if __name__ == "__main__":
    main()
