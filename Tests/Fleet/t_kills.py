"""Kills of the ordering command and of etcd at every step, and many devices."""
import re
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

from fleet_parts import STACK, Relay
from t_faults import values
from t_sign_out import three

ORDER = ["sign-out", "api.example.com", "ann", "--device", "laptop"]


def test_an_order_is_whole_or_absent_after_kills_of_the_ordering_command(place, server):
    etcd, (desk, laptop, third), _ = three(place, server)
    number = 0
    while True:
        number += 1
        killed = subprocess.run(
            ["strace", "-f", "-o", "/dev/null", "-e", "trace=sendto", "-e", f"inject=sendto:signal=KILL:when={number}",
             desk.program, "fleet", *ORDER, *STACK], env=desk.environment, capture_output=True)
        orders = values(etcd, "orders")
        assert len(orders) <= 1
        # What is there is obeyed as it is; if nothing is there, nothing happens.
        assert laptop.fleet("run", "--once").stderr.count("forged") == 0, number
        assert laptop.state()[0] == ("signed-out" if orders else "user"), number
        if not orders:
            desk.fleet(*ORDER)
            laptop.fleet("run", "--once")
        assert laptop.state() == ("signed-out", "remote"), number
        assert not values(etcd, "orders")
        laptop.sign_in(server)
        laptop.fleet("run", "--once")
        assert laptop.state()[0] == "user" and third.state()[0] == "user", number
        if killed.returncode == 0:
            break
    assert number > 3, "the command has three calls at least"


def test_an_order_survives_kills_of_etcd_at_every_call(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    real = etcd.url
    for is_late in (False, True):
        number = 0
        while True:
            number += 1
            laptop.use(real)
            laptop.sign_in(server)
            laptop.fleet("run", "--once")
            desk.fleet(*ORDER)

            def kill(call, _, is_answered, at=number, late=is_late):
                if call == at and is_answered == late:
                    etcd.kill(signal.SIGKILL)

            relay = Relay(etcd, kill)
            laptop.use(relay.url)
            laptop.fleet("run", "--once", check=None)
            relay.close()
            if etcd.process.poll() is not None:
                etcd.start()
            laptop.use(real)
            laptop.fleet("run", "--once")
            assert laptop.state() == ("signed-out", "remote"), (number, is_late)
            assert not values(etcd, "orders"), (number, is_late)
            assert ("laptop", "api.example.com", "ann") not in desk.sessions(), (number, is_late)
            if relay.count < number:
                break
        # Lists of the device, the orders and the sessions; a lease, and the result; the publication; the presence.
        assert number > 7, number


def test_an_order_whose_answer_is_lost_is_given_and_obeyed_once(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    real = etcd.url
    for is_obeyed_meanwhile in (True, False):
        lost = []

        def lose(_, path, is_answered, lost=lost, obeys=is_obeyed_meanwhile):
            if path != "/v3/kv/txn" or not is_answered or lost:
                return
            lost.append(path)
            if obeys:
                laptop.fleet("run", "--once")
            raise ConnectionResetError

        relay = Relay(etcd, lose)
        desk.use(relay.url, real)
        before = set(values(etcd, "results"))
        if is_obeyed_meanwhile:
            told = desk.fleet(*ORDER, "--wait", "60s")
            assert told.stdout.startswith("laptop: signed out, token "), told
        else:
            desk.fleet(*ORDER)
            assert len(values(etcd, "orders")) == 1
            laptop.fleet("run", "--once")
        assert lost, "the order was not sent"
        assert laptop.state() == ("signed-out", "remote")
        assert not values(etcd, "orders") and len(set(values(etcd, "results")) - before) == 1
        relay.close()
        laptop.sign_in(server)
        laptop.fleet("run", "--once")


def test_fifty_devices(place, server):
    etcd = place.etcd()
    desk = place.device("desk", server)
    desk.init(etcd)
    invitation = desk.fleet("invite")
    devices = [place.device(f"d{number}", server) for number in range(50)]

    def enter(device):
        device.join_by(invitation)
        family = device.sign_in(server)
        device.fleet("run", "--once")
        return family

    with ThreadPoolExecutor(4) as pool:
        families = list(pool.map(enter, devices))
    assert {name for name, _, _ in desk.sessions()} == {device.name for device in devices}
    desk.fleet(*ORDER[:3], "--device", "d7")
    told = desk.fleet(*ORDER[:3], "--everywhere", "--wait", "1s", check=4).stderr
    silent = re.search("not obeyed yet by ([d0-9, ]+)", told)
    assert silent and sorted(silent[1].split(", ")) == sorted(device.name for device in devices), told
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda device: device.fleet("run", "--once"), devices))
    assert all(family.is_revoked for family in families)
    assert not desk.sessions() and not values(etcd, "orders")
