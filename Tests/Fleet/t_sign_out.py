"""Sessions of several devices: seen from each, ended from any."""
import json

from fleet_parts import wait_until


def three(place, server, **options):
    """Three devices of a fleet on a new member, each signed in as ann."""
    etcd = place.etcd(**options)
    devices = [place.device(name, server) for name in ("desk", "laptop", "server")]
    devices[0].init(etcd)
    for device in devices[1:]:
        device.join(devices[0])
    families = [device.sign_in(server) for device in devices]
    for device in devices:
        device.fleet("run", "--once")
    return etcd, devices, families


def test_every_device_sees_the_sessions_of_all(place, server):
    _, (desk, laptop, _), _ = three(place, server)
    for device in (desk, laptop):
        sessions = device.sessions()
        assert {name for name, _, _ in sessions} == {"desk", "laptop", "server"}, sessions
        one = sessions["laptop", "api.example.com", "ann"]
        assert one["state"] == "user" and one["provider"] == "rotating" and one["present"], one
        assert one["this_device"] == (device is laptop) and one["signed_in_at"] and one["order"] is None, one
    assert "laptop *" in laptop.fleet("list").stdout


def test_an_order_ends_one_session_and_no_other(place, server):
    etcd, (desk, laptop, third), families = three(place, server)
    laptop.sign_in(server, account="bob")
    laptop.start()
    said = desk.fleet("sign-out", "api.example.com", "ann", "--device", "laptop", "--wait", "60s")
    assert said.stdout == "laptop: signed out, token queued\n" or said.stdout == "laptop: signed out, token done\n", said.stdout
    assert "https://id.example.com/sessions" in said.stderr, said.stderr
    assert laptop.state() == ("signed-out", "remote"), laptop.state()
    assert laptop.state("bob")[0] == "user"
    assert desk.state()[0] == third.state()[0] == "user"
    wait_until(lambda: families[1].is_revoked, "the grant's end at the provider")
    assert not families[0].is_revoked and not families[2].is_revoked
    wait_until(lambda: ("laptop", "api.example.com", "ann") not in desk.sessions(), "the removal")
    assert not [key for key in etcd.keys("/tokenkeep/home/1/users/") if "/orders/" in key]
    assert "signed out of api.example.com as ann by an order (sign-out)" in laptop.said()


def test_a_device_that_was_off_obeys_when_it_comes_back(place, server):
    _, (desk, laptop, _), _ = three(place, server)
    late = desk.fleet("sign-out", "api.example.com", "ann", "--device", "laptop", "--wait", "1s", check=4)
    assert "not obeyed yet by laptop" in late.stderr, late.stderr
    assert desk.sessions()["laptop", "api.example.com", "ann"]["order"] == "waiting"
    assert laptop.state()[0] == "user"
    laptop.fleet("run", "--once")
    assert laptop.state() == ("signed-out", "remote")


def test_signing_in_again_after_the_order_stays(place, server):
    _, (desk, laptop, _), _ = three(place, server)
    for options in (["--device", "laptop"], ["--others"], ["--everywhere"]):
        desk.fleet("sign-out", "api.example.com", "ann", *options)
        family = laptop.sign_in(server)
        laptop.fleet("run", "--once")
        assert laptop.state()[0] == "user" and not family.is_revoked, options
        desk.sign_in(server)
        laptop.fleet("run", "--once")
        assert laptop.state()[0] == "user"


def test_others_leaves_this_device_signed_in_and_everywhere_does_not(place, server):
    _, (desk, laptop, third), _ = three(place, server)
    laptop.start()
    third.start()
    told = desk.fleet("sign-out", "api.example.com", "ann", "--others", "--wait", "60s", "--json")
    results = [json.loads(line) for line in told.stdout.splitlines()]
    assert {one["device_name"]: one["result"] for one in results} == {"laptop": "done", "server": "done"}, results
    assert desk.state()[0] == "user"
    laptop.sign_in(server)
    wait_until(lambda: ("laptop", "api.example.com", "ann") in desk.sessions(), "the publication")
    desk.fleet("sign-out", "api.example.com", "ann", "--everywhere", "--wait", "60s")
    assert desk.state() == ("signed-out", "logout") and laptop.state() == ("signed-out", "remote")


def test_everywhere_reaches_sessions_that_were_not_published(place, server):
    _, (desk, laptop, _), _ = three(place, server)
    laptop.sign_in(server, account="eve")
    laptop.sign_in(server, account="later")
    desk.fleet("sign-out", "api.example.com", "eve", "--everywhere")
    laptop.fleet("run", "--once")
    assert laptop.state("eve") == ("signed-out", "remote")
    assert laptop.state("later")[0] == "user" and laptop.state()[0] == "user"
    laptop.sign_in(server, account="eve")
    laptop.fleet("run", "--once")
    assert laptop.state("eve")[0] == "user"


def test_who_signs_in_again_and_orders_again_at_once_is_obeyed_again(place, server):
    etcd, (desk, laptop, third), _ = three(place, server)
    for device in (desk, third, desk, desk, third):
        # The laptop has not published this session: the order for everywhere alone can end it.
        laptop.sign_in(server, account="eve")
        device.fleet("sign-out", "api.example.com", "eve", "--everywhere")
        laptop.fleet("run", "--once")
        assert laptop.state("eve") == ("signed-out", "remote")
    laptop.sign_in(server, account="eve")
    laptop.fleet("run", "--once")
    laptop.fleet("run", "--once")
    assert laptop.state("eve")[0] == "user", "an order was obeyed twice"


def test_a_local_sign_out_leaves_the_registry(place, server):
    _, (desk, laptop, _), _ = three(place, server)
    laptop.start()
    laptop.run("session", "logout", "api.example.com", "ann")
    wait_until(lambda: ("laptop", "api.example.com", "ann") not in desk.sessions(), "the removal")
    laptop.sign_in(server, account="new")
    wait_until(lambda: ("laptop", "api.example.com", "new") in desk.sessions(), "the publication")


def test_devices_have_names_and_leave(place, server):
    etcd, (desk, laptop, third), _ = three(place, server)
    assert "another device has the name desk" in laptop.fleet("rename", "desk", check=6).stderr
    laptop.fleet("rename", "notebook")
    assert ("notebook", "api.example.com", "ann") in desk.sessions()
    third.fleet("leave")
    assert third.state()[0] == "user"
    assert "this device is in no fleet" in third.fleet("list", check=1).stderr
    left = desk.fleet("leave", "--device", "notebook")
    assert "the device notebook stays signed in: 1 of its sessions had no order" in left.stderr
    assert {name for name, _, _ in desk.sessions()} == {"desk"}
    assert "there is no device notebook" in desk.fleet("leave", "--device", "notebook", check=1).stderr
    assert "no such device is signed in to api.example.com as ann" in desk.fleet(
        "sign-out", "api.example.com", "ann", "--others", check=1).stderr


def test_watch_shows_each_change(place, server):
    import subprocess
    from fleet_parts import STACK
    _, (desk, laptop, _), _ = three(place, server)
    watch = subprocess.Popen(
        [desk.program, "fleet", "watch", *STACK], env=desk.environment, stdout=subprocess.PIPE, text=True)
    try:
        lines = {watch.stdout.readline() for _ in range(3)}
        assert "user\tapi.example.com\tann\tlaptop\n" in lines, lines
        laptop.run("session", "logout", "api.example.com", "ann", "--local")
        laptop.fleet("run", "--once")
        assert watch.stdout.readline() == "ended\tapi.example.com\tann\tlaptop\n"
    finally:
        watch.kill()
        watch.wait()
