"""Users and rights: etcd's users, certificates, join codes, administrators."""
import base64
import json
import os

import read_fleet
from fleet_parts import Relay, wait_until

ROOT = "root-password-of-the-test\n"
CTL = "root:root-password-of-the-test"


def company(place, server, **options):
    """A fleet with etcd's users: the administrator's desk, and a laptop of ann."""
    authority = place.authority()
    etcd = place.etcd(authority=authority, **options)
    admin, laptop = place.device("admin", server), place.device("laptop", server)
    admin.fleet("init", "home", "--endpoint", etcd.url, "--ca", authority.file, "--name", "admin", "--person", "boss")
    admin.fleet("admin", "init", given=ROOT)
    laptop.join_by(admin.fleet("admin", "add-user", "ann", given=ROOT))
    return etcd, admin, laptop


def test_each_user_has_its_own_prefix(place, server):
    etcd, admin, laptop = company(place, server)
    laptop.sign_in(server)
    laptop.fleet("run", "--once")
    admin.sign_in(server, account="boss")
    admin.fleet("run", "--once")
    assert {account for _, _, account in laptop.sessions()} == {"ann"}
    assert {account for _, _, account in admin.sessions()} == {"boss"}
    users = {one["user"]: one for one in json.loads(admin.fleet("admin", "list", "--json", given=ROOT).stdout)}
    assert users["ann"]["sessions"] == users["ann"]["devices"] == users["boss"]["sessions"] == 1, users
    # By plain calls the role refuses all but the user's own keys.
    keys = etcd.keys("/tokenkeep/", user=CTL)
    users_of = {key.split("/")[5] for key in keys if "/users/" in key}
    ann, boss = users["ann"]["id"], users["boss"]["id"]
    assert users_of == {ann, boss}
    names = etcd.ctl("user", "list", user=CTL).stdout.decode().split()
    assert sorted(names) == sorted(["root", f"tokenkeep-{ann[:16]}", f"tokenkeep-{boss[:16]}"]), names
    secret = json.loads(laptop.run("load", "org.tokenkeep.fleet", "home").stdout)
    own = f"tokenkeep-{ann[:16]}:{secret['password']}"
    for call in (["get", f"/tokenkeep/home/1/users/{boss}/", "--prefix"], ["del", f"/tokenkeep/home/1/users/{boss}/", "--prefix"],
                 ["put", f"/tokenkeep/home/1/users/{boss}/orders/0123456789abcdef/{'0' * 32}", "x"], ["get", "/tokenkeep/home/1/names/", "--prefix"]):
        refused = etcd.ctl(*call, user=own, check=False)
        assert b"permission denied" in refused.stderr, refused
    # The auditor's role reads all, sealed, and writes nothing.
    etcd.ctl("user", "add", "auditor:audit", user=CTL)
    etcd.ctl("user", "grant-role", "auditor", "tokenkeep-auditor", user=CTL)
    assert etcd.keys("/tokenkeep/home/1/", user="auditor:audit") == keys
    for call in (["put", next(iter(keys)), "x"], ["del", next(iter(keys))]):
        assert b"permission denied" in etcd.ctl(*call, user="auditor:audit", check=False).stderr, call
    assert "fleet_key" not in secret and "fleet_key" in json.loads(admin.run("load", "org.tokenkeep.fleet", "home").stdout)


def test_an_administrator_ends_the_sessions_of_a_user(place, server):
    etcd, admin, laptop = company(place, server)
    family = laptop.sign_in(server)
    laptop.sign_in(server, account="other")
    laptop.start()
    wait_until(lambda: users(admin)["ann"]["sessions"] == 2, "the publication")
    assert "the fleet has no user eve" in admin.fleet("admin", "sign-out", "eve", given=ROOT, check=8).stderr
    told = admin.fleet("admin", "sign-out", "ann", "--account", "ann", "--reason", "left", given=ROOT)
    assert told.stdout == "1 ordered\n"
    wait_until(lambda: laptop.state() == ("signed-out", "remote"), "the sign-out")
    wait_until(lambda: family.is_revoked, "the grant's end")
    assert laptop.state("other")[0] == "user"
    assert "by an order (left)" in laptop.said()
    # Nothing is left to end, and that is no error.
    wait_until(lambda: users(admin)["ann"]["sessions"] == 1, "the removal")
    assert admin.fleet("admin", "sign-out", "ann", "--account", "ann", given=ROOT).stdout == "0 ordered\n"
    # A session that began after the event goes on.
    admin.fleet("admin", "sign-out", "ann", "--before", "@1000000000", given=ROOT)
    assert laptop.state("other")[0] == "user"
    # The order for all services reaches a session that was not published.
    laptop.stop()
    laptop.sign_in(server, account="unpublished")
    assert admin.fleet("admin", "sign-out", "ann", given=ROOT).stdout == "1 ordered\n"
    laptop.fleet("run", "--once")
    assert laptop.state("unpublished") == laptop.state("other") == ("signed-out", "remote")
    # The order about an earlier event does not take the place of that about a later one.
    def everywhere():
        return {key: value for key, value in etcd.keys("/tokenkeep/", user=CTL).items() if "/everywhere/" in key}
    kept = everywhere()
    admin.fleet("admin", "sign-out", "ann", "--before", "@1000000000", given=ROOT)
    assert kept and everywhere() == kept


def users(admin):
    return {one["user"]: one for one in json.loads(admin.fleet("admin", "list", "--json", given=ROOT).stdout)}


def test_a_removed_user_has_no_rights_and_no_keys(place, server):
    etcd, admin, laptop = company(place, server)
    laptop.sign_in(server)
    laptop.fleet("run", "--once")
    ann = users(admin)["ann"]["id"]
    assert "end when etcd's members restart" in admin.fleet("admin", "remove-user", "ann", given=ROOT).stderr
    assert not [key for key in etcd.keys("/tokenkeep/", user=CTL) if ann in key]
    assert "refuses the user or the password" in laptop.fleet("list", check=5).stderr
    assert "the fleet has no user ann" in admin.fleet("admin", "remove-user", "ann", given=ROOT, check=1).stderr
    assert laptop.state()[0] == "user"


def test_a_changed_password_is_named_and_a_new_code_mends_it(place, server):
    _, admin, laptop = company(place, server)
    laptop.sign_in(server)
    invitation = admin.fleet("admin", "add-user", "ann", given=ROOT)
    refused = laptop.fleet("run", "--once", check=5)
    assert "refuses the user or the password" in refused.stderr and "tokenkeep fleet join" in refused.stderr, refused
    laptop.join_by(invitation)
    laptop.fleet("run", "--once")
    assert len(users(admin)["ann"]) and users(admin)["ann"]["devices"] == 1
    wrong = admin.fleet("admin", "list", given="wrong\n", check=5)
    assert "give the password of etcd's root on standard input" in wrong.stderr
    assert "this device has not the key of the fleet home" in laptop.fleet("admin", "list", given=ROOT, check=5).stderr


def test_a_runner_takes_the_password_of_a_new_code(place, server):
    _, admin, laptop = company(place, server)
    laptop.sign_in(server)
    laptop.start()
    wait_until(lambda: users(admin)["ann"]["sessions"] == 1, "the publication")
    invitation = admin.fleet("admin", "add-user", "ann", given=ROOT)
    laptop.sign_in(server, account="other")
    wait_until(lambda: "refuses the user or the password" in laptop.said(), "the refusal")
    laptop.join_by(invitation)
    wait_until(lambda: users(admin)["ann"]["sessions"] == 2, "the publication with the new password")


def test_old_devices_are_pruned_by_name(place, server):
    _, admin, laptop = company(place, server)
    laptop.fleet("run", "--once")
    def pruned(*options):
        lines = admin.fleet("admin", "prune", "--older-than", *options, given=ROOT).stdout.splitlines()
        return [line.split("\t")[:2] for line in lines]
    assert pruned("1d") == []
    wait_until(lambda: ["ann", "laptop"] in pruned("0s", "--dry-run"), "the next second")
    assert ["ann", "laptop"] in pruned("0s", "--dry-run")
    assert ["ann", "laptop"] in pruned("0s")
    assert users(admin)["ann"]["devices"] == 0


def test_join_codes_are_sealed_by_their_words(place, server):
    etcd = place.etcd()
    desk, laptop = place.device("desk", server), place.device("laptop", server)
    desk.init(etcd)
    invitation = desk.fleet("invite")
    code, words = invitation.stdout.strip(), invitation.stderr.strip()
    assert len(words.split()) == 8 and "\n" not in words and "\n" not in code
    other = " ".join(reversed(words.split()))
    def joins(text, check):
        return laptop.fleet("join", "--name", "laptop", given=text, check=check).stderr
    assert "the words are not those of this join code" in joins(f"{code}\n{other}\n", 5)
    assert "these are not the words of a join code" in joins(f"{code}\nbad words\n", 2)
    for damaged in (code[:-4], code[:60] + ("A" if code[60] != "A" else "B") + code[61:], code[3:], "x" * 70000):
        assert "this is no join code, or a part of it is missing" in joins(f"{damaged}\n{words}\n", 2)
    assert "standard input has no join code" in joins("a\nb\nc\n", 2)
    ended = desk.fleet("invite", "--expires", "0s")
    given = f"{ended.stdout.strip()}\n{ended.stderr.strip()}\n"
    # A code is good until its last second is over.
    wait_until(lambda: "the join code is not valid any more" in laptop.fleet("join", given=given, check=None).stderr
               or laptop.fleet("leave", check=None) is None, "the end of the code")
    laptop.fleet("join", "--name", "laptop", given=f"{code}\n{words.upper().replace(' ', '-')}\n")
    # Again by the same user: the same device. By another user: no.
    joins(f"{code}\n{words}\n", 0)
    assert len({one.split("/")[-1] for one in etcd.keys("/tokenkeep/") if "/devices/" in one}) == 2
    other = place.device("other", server)
    other.fleet("init", "home", "--endpoint", etcd.url, "--person", "eve", "--name", "other")
    assert "in the fleet home already" in other.fleet("join", given=f"{code}\n{words}\n", check=6).stderr
    refused = other.fleet("leave", "--local", check=6).stderr
    assert "this device has the key of the fleet home, perhaps the only one" in refused, refused
    other.fleet("leave", "--local", "--forget-fleet-key")


def test_keys_without_a_file_are_kept_and_a_file_without_keys_is_none(place, server):
    etcd = place.etcd()
    desk, laptop = place.device("desk", server), place.device("laptop", server)
    desk.init(etcd)
    conf = f"{desk.home}/config/tokenkeep/fleet.d/home.conf"
    before = desk.run("load", "org.tokenkeep.fleet", "home").stdout
    os.remove(conf)
    begin = ["init", "home", "--endpoint", etcd.url, "--name", "desk", "--person", "ann"]
    refused = desk.fleet(*begin, check=6).stderr
    assert "the store has keys of a fleet home, perhaps the only ones" in refused, refused
    assert desk.run("load", "org.tokenkeep.fleet", "home").stdout == before
    desk.fleet("leave", "--local", "--fleet", "home", "--forget-fleet-key")
    desk.fleet(*begin[:3], etcd.url, "--name", "desk2", "--person", "ann")
    # A join that was cut short before its keys, and one before its file.
    laptop.join(desk)
    first = json.loads(laptop.run("load", "org.tokenkeep.fleet", "home").stdout)["device"]
    laptop.run("clear", "org.tokenkeep.fleet", "home")
    laptop.fleet("leave", "--local")
    desk.fleet("leave", "--device", "laptop")
    laptop.join(desk)
    second = json.loads(laptop.run("load", "org.tokenkeep.fleet", "home").stdout)["device"]
    assert second != first
    os.remove(conf.replace("/desk/", "/laptop/"))
    laptop.join(desk)
    assert json.loads(laptop.run("load", "org.tokenkeep.fleet", "home").stdout)["device"] == second
    # An init that fails leaves nothing that was not there.
    new = place.device("new", server)
    new.fleet("init", "home", "--endpoint", "http://127.0.0.1:1", check=4)
    new.run("load", "org.tokenkeep.fleet", "home", check=1)
    assert not os.path.exists(f"{new.home}/config/tokenkeep/fleet.d/home.conf")


def test_client_certificates_have_no_common_name(place, server):
    authority = place.authority()
    etcd = place.etcd(authority=authority, wants_certificate=True)
    desk = place.device("desk", server)
    def begin(*options, check):
        return desk.fleet("init", "home", "--endpoint", etcd.url, "--ca", authority.file, *options, check=check).stderr
    refused = begin(check=None)
    assert "refuses this device's certificate:" in refused or "want a client certificate" in refused, refused
    named = authority.sign("named", "/CN=laptop")
    assert "the client certificate has a common name" in begin("--cert", named[0], "--key", named[1], check=2)
    assert "/etc/passwd has no certificate" in begin("--cert", "/etc/passwd", "--key", named[1], check=2)
    good = authority.sign("device", "/O=fleet/OU=desk")
    link = f"{place.directory}/link.pem"
    os.symlink(good[0], link)
    begin("--cert", link, "--key", good[1], check=0)
    desk.fleet("run", "--once")
    # With etcd's users on, the gateway refuses every call of a certificate with a common name.
    desk.fleet("admin", "init", given=ROOT)
    path = f"{desk.home}/config/tokenkeep/fleet.d/home.conf"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(link, named[0]).replace(good[1], named[1]))
    assert "the client certificate has a common name" in desk.fleet("list", check=2).stderr
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    laptop = place.device("laptop", server)
    invitation = desk.fleet("admin", "add-user", "ann", given=ROOT)
    given = f"{invitation.stdout.strip()}\n{invitation.stderr.strip().splitlines()[-1]}\n"
    refused = laptop.fleet("join", "--cert", named[0], "--key", named[1], given=given, check=2).stderr
    assert "the client certificate has a common name" in refused, refused
    own = authority.sign("laptop", "/O=fleet/OU=laptop")
    laptop.fleet("join", "--cert", own[0], "--key", own[1], given=given)


def test_a_user_above_the_limits_is_marked(place, server):
    etcd, admin, laptop = company(place, server)
    assert not users(admin)["ann"]["above_limits"]
    name, password = CTL.split(":")
    _, answer = etcd.post("/v3/auth/authenticate", json.dumps({"name": name, "password": password}))
    secret = json.loads(laptop.run("load", "org.tokenkeep.fleet", "home").stdout)
    for number in range(256):
        path = f"/tokenkeep/home/1/users/{secret['user_id']}/devices/{number:016x}"
        value = read_fleet.seal_value({"name": f"d{number}", "joined": 1}, bytes.fromhex(secret["user_key"]), path, os.urandom(24))
        body = {"key": base64.b64encode(path.encode()).decode(), "value": base64.b64encode(value).decode()}
        assert etcd.post("/v3/kv/put", json.dumps(body), {"Authorization": answer["token"]})[0] == 200
    assert users(admin)["ann"] == users(admin)["ann"] | {"above_limits": True, "devices": 257}
    assert "above" in admin.fleet("admin", "list", given=ROOT).stdout
    pruned = admin.fleet("admin", "prune", "--older-than", "1d", "--dry-run", given=ROOT).stdout
    assert "ann\td255\t" in pruned and "laptop" not in pruned and users(admin)["ann"]["devices"] == 257


# For a member that takes values of which no answer of 4 MiB holds one.
LARGE = ["--max-request-bytes", "8000000"]


def unlisted(place, server, etcd, admin, name):
    """A user with a value that no answer holds. Returns the prefix of the user's keys."""
    device = place.device(name, server)
    device.join_by(admin.fleet("admin", "add-user", name, given=ROOT))
    secret = json.loads(device.run("load", "org.tokenkeep.fleet", "home").stdout)
    user, password = CTL.split(":")
    _, answer = etcd.post("/v3/auth/authenticate", json.dumps({"name": user, "password": password}))
    prefix = f"/tokenkeep/home/1/users/{secret['user_id']}/"
    body = {"key": base64.b64encode(f"{prefix}0".encode()).decode(), "value": base64.b64encode(b"x" * 4_000_000).decode()}
    assert etcd.post("/v3/kv/put", json.dumps(body), {"Authorization": answer["token"]})[0] == 200
    return prefix


def test_a_user_who_cannot_be_listed_hides_no_other(place, server):
    etcd, admin, laptop = company(place, server, options=LARGE)
    laptop.sign_in(server)
    laptop.fleet("run", "--once")
    email = "--email", "nobody@example.com"
    prefix = unlisted(place, server, etcd, admin, "eve")
    problem = "the user eve has more in the registry than can be listed"
    listed = admin.fleet("admin", "list", "--json", given=ROOT, check=4)
    assert problem in listed.stderr and f"keys below {prefix}" in listed.stderr, listed
    found = {one["user"]: one for one in json.loads(listed.stdout)}
    assert found["ann"]["sessions"] == found["ann"]["devices"] == 1 and not found["ann"]["above_limits"], found
    assert found["eve"] == found["eve"] | {"sessions": None, "devices": None, "above_limits": True}, found
    assert "unknown" in admin.fleet("admin", "list", given=ROOT, check=4).stdout
    pruned = admin.fleet("admin", "prune", "--older-than", "1d", "--dry-run", given=ROOT, check=4)
    assert problem in pruned.stderr
    # The person may be one of eve's: that is not "unknown".
    assert problem in admin.fleet("admin", "sign-out", *email, given=ROOT, check=9).stderr
    # Each of several is named.
    unlisted(place, server, etcd, admin, "mallory")
    several = admin.fleet("admin", "sign-out", *email, given=ROOT, check=9)
    assert "the users eve and mallory have more in the registry than can be listed" in several.stderr, several
    assert several.stdout == "0 ordered\n", several
    # Nothing was ordered for a user who is named, and who cannot be listed.
    assert problem in admin.fleet("admin", "sign-out", "eve", given=ROOT, check=4).stderr
    assert admin.fleet("admin", "sign-out", "ann", given=ROOT).stdout == "1 ordered\n"
    laptop.fleet("run", "--once")
    assert laptop.state() == ("signed-out", "remote")


def test_users_are_on_though_the_answer_was_lost(place, server):
    etcd = place.etcd()
    admin = place.device("admin", server)
    admin.init(etcd)
    lost = []

    def lose(_, path, is_answered):
        if path == "/v3/auth/enable" and is_answered and not lost:
            lost.append(path)
            raise ConnectionResetError

    relay = Relay(etcd, lose)
    admin.use(relay.url)
    admin.fleet("admin", "init", given=ROOT)
    assert lost
    assert set(users(admin)) == {"ann"}
    relay.close()
