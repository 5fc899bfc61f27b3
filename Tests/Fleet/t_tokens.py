"""Tokens of etcd that are JSON Web Tokens: each change of users makes all of them old, and every device asks for another."""
import json
import os

from fleet_parts import Relay, openssl, wait_until
from t_users import CTL, ROOT


def company(place, server):
    """A fleet without TLS, whose etcd signs its tokens: the administrator's desk, and a laptop of ann's."""
    os.makedirs(place.directory, exist_ok=True)
    private, public = f"{place.directory}/jwt.key", f"{place.directory}/jwt.pub"
    openssl("genrsa", "-out", private, "2048")
    openssl("rsa", "-in", private, "-pubout", "-out", public)
    etcd = place.etcd(options=["--auth-token", f"jwt,pub-key={public},priv-key={private},sign-method=RS256,ttl=10m"])
    admin, laptop = place.device("admin", server), place.device("laptop", server)
    admin.fleet("init", "home", "--endpoint", etcd.url, "--name", "admin", "--person", "boss")
    admin.fleet("admin", "init", given=ROOT)
    laptop.join_by(admin.fleet("admin", "add-user", "ann", given=ROOT))
    laptop.sign_in(server)
    return etcd, admin, laptop


def test_a_token_that_a_change_of_users_made_old_is_replaced_once(place, server):
    etcd, admin, laptop = company(place, server)
    calls, added = [], []

    def watch(_, path, is_answered):
        if not is_answered:
            calls.append(path)
        elif path == "/v3/kv/range" and not added:
            # After the first answer to a call with a token; the others need another one.
            added.append(path)
            admin.fleet("admin", "add-user", "eve", given=ROOT)

    relay = Relay(etcd, watch)
    laptop.use(relay.url)
    laptop.fleet("run", "--once")
    assert calls.count("/v3/auth/authenticate") == 2, calls
    assert len([key for key in etcd.keys("/tokenkeep/", user=CTL) if "/sessions/" in key]) == 1
    relay.close()


def test_a_runner_goes_on_after_changes_of_users(place, server):
    etcd, admin, laptop = company(place, server)

    def accounts():
        return json.loads(admin.fleet("admin", "list", "--json", given=ROOT).stdout)

    laptop.start()
    wait_until(lambda: {one["user"]: one["sessions"] for one in accounts()}["ann"] == 1, "the publication")
    for number in range(3):
        admin.fleet("admin", "add-user", f"new{number}", given=ROOT)
    admin.fleet("admin", "sign-out", "ann", "--account", "ann", given=ROOT)
    wait_until(lambda: laptop.state() == ("signed-out", "remote"), "the sign-out")
    wait_until(lambda: {one["user"]: one["sessions"] for one in accounts()}["ann"] == 0, "the removal")
    assert "auth store" not in laptop.said() and "refuses" not in laptop.said(), laptop.said()
