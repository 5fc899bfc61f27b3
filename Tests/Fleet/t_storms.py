"""Many devices that do the same at the same moment."""
import json
from concurrent.futures import ThreadPoolExecutor

from fleet_parts import wait_until
from t_faults import values

COUNT = 8


def all_at_once(calls):
    with ThreadPoolExecutor(len(calls)) as pool:
        return [one.result() for one in [pool.submit(call) for call in calls]]


def test_joins_at_the_same_moment_lose_no_device(place, server):
    etcd = place.etcd()
    desk = place.device("desk", server)
    desk.init(etcd)
    invitation = desk.fleet("invite")
    devices = [place.device(f"d{number}", server) for number in range(COUNT)]
    all_at_once([lambda device=device: device.join_by(invitation) for device in devices])
    shown = json.loads(desk.fleet("status", "--json").stdout)
    assert {one["name"] for one in shown["devices"]} == {"desk", *(device.name for device in devices)}
    assert len(values(etcd, "devices")) == COUNT + 1


def test_sign_outs_by_all_of_all_leave_no_order_and_no_session(place, server):
    etcd = place.etcd()
    devices = [place.device(f"d{number}", server) for number in range(COUNT)]
    devices[0].init(etcd)
    for device in devices[1:]:
        device.join(devices[0])
    families = [device.sign_in(server) for device in devices]
    bystander = devices[3].sign_in(server, account="bob")
    for device in devices:
        device.fleet("run", "--once")
    # Half of them obey at once, the others later: then orders wait for them, one for each.
    for device in devices[:COUNT // 2]:
        device.start()
    done = all_at_once([
        lambda device=device: device.fleet("sign-out", "api.example.com", "ann", "--others", check=None)
        for device in devices])
    # A late process may have found that nobody was signed in.
    assert all(one.returncode == 0 or "no such device is signed in" in one.stderr for one in done), done
    assert len(values(etcd, "orders")) <= COUNT
    for device in devices[COUNT // 2:]:
        device.fleet("run", "--once")
    wait_until(lambda: all(device.state() == ("signed-out", "remote") for device in devices), "the sign-outs")
    wait_until(lambda: not values(etcd, "orders"), "the answers")
    wait_until(lambda: all(family.is_revoked for family in families), "the grants' ends")
    assert not bystander.is_revoked
    wait_until(lambda: {account for _, _, account in devices[0].sessions()} == {"bob"}, "the removals")
    for device in devices:
        device.stop()
        device.sign_in(server)
        device.fleet("run", "--once")
        assert device.state()[0] == "user", f"an order came back on {device.name}"
