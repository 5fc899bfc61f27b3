"""examples/caep-bridge.py against a fake transmitter: an identity provider's event ends sessions on all machines."""
import base64
import http.server
import json
import os
import subprocess
import threading
import time

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

from fleet_parts import HERE, STACK, wait_until
from t_users import LARGE, ROOT, company, unlisted

ISSUER, AUDIENCE = "https://id.example.com", "https://fleet.example.com"


def encoded(value):
    value = json.dumps(value).encode() if isinstance(value, dict) else value
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def number(value):
    return encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class Transmitter:
    """Signs events, and gives each again until it is acknowledged."""

    def __init__(self):
        self.rsa = rsa.generate_private_key(65537, 2048)
        self.ec = ec.generate_private_key(ec.SECP256R1())
        self.waiting, self.acknowledged, self.errors = {}, [], {}
        transmitter = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.reply({"keys": transmitter.keys()})

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                assert self.headers["Authorization"] == "Bearer stream-token"
                transmitter.acknowledged += request["ack"]
                transmitter.errors |= request["setErrs"]
                for name in [*request["ack"], *request["setErrs"]]:
                    transmitter.waiting.pop(name, None)
                self.reply({"sets": transmitter.waiting, "moreAvailable": False})

            def reply(self, answer):
                body = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.http.server_port}"

    def keys(self):
        public, point = self.rsa.public_key().public_numbers(), self.ec.public_key().public_numbers()
        return [{"kid": "r", "kty": "RSA", "n": number(public.n), "e": number(public.e)},
                {"kid": "e", "kty": "EC", "crv": "P-256", "x": encoded(point.x.to_bytes(32, "big")),
                 "y": encoded(point.y.to_bytes(32, "big"))}]

    def send(self, name, kind, subject, algorithm="RS256", at=None, **claims):
        event = {"subject": subject, "event_timestamp": at or int(time.time()) + 1}
        claims = {"iss": ISSUER, "aud": AUDIENCE, "jti": name, "iat": int(time.time()),
                  "events": {f"https://schemas.openid.net/secevent/{kind}": event}, **claims}
        data = f"{encoded({'alg': algorithm, 'kid': 'r' if algorithm == 'RS256' else 'e'})}.{encoded(claims)}"
        if algorithm == "RS256":
            signature = self.rsa.sign(data.encode(), padding.PKCS1v15(), hashes.SHA256())
        else:
            r, s = utils.decode_dss_signature(self.ec.sign(data.encode(), ec.ECDSA(hashes.SHA256())))
            signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
        self.waiting[name] = f"{data}.{encoded(signature)}"


def id_token(subject, email):
    claims = {"iss": ISSUER, "sub": subject, "email": email, "aud": "app", "exp": int(time.time()) + 3600}
    return f"{encoded({'alg': 'none'})}.{encoded(claims)}.{encoded(b'x')}"


def settings_of(place, admin, transmitter):
    """The path of the bridge's settings."""
    admin.run("save", "id.example.com", "bridge", given="stream-token")
    admin.run("save", "etcd", "root", given=ROOT.strip())
    settings = f"{place.directory}/bridge.json"
    with open(settings, "w", encoding="utf-8") as file:
        json.dump({
            "poll": f"{transmitter.address}/poll", "keys": f"{transmitter.address}/jwks", "issuer": ISSUER,
            "audience": AUDIENCE, "token_item": ["id.example.com", "bridge"], "root_password_item": ["etcd", "root"],
            "seen": f"{place.directory}/seen", "options": STACK}, file)
    return settings


def run_bridge(settings, admin, transmitter):
    """Runs the bridge until all events are acknowledged or refused. Returns what it said."""
    bridge = subprocess.Popen(
        ["/usr/bin/python3", f"{HERE}/../../examples/caep-bridge.py", settings],
        env={**admin.environment, "TOKENKEEP": admin.program}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_until(lambda: not transmitter.waiting, "the acknowledgements")
    finally:
        bridge.kill()
        said, _ = bridge.communicate()
    return said


def test_a_user_who_cannot_be_listed_holds_up_no_event(place, server):
    etcd, admin, laptop = company(place, server, options=LARGE)
    transmitter = Transmitter()
    laptop.sign_in(server, account="248", id_token=id_token("248", "248@example.com"))
    laptop.fleet("run", "--once")
    unlisted(place, server, etcd, admin, "eve")
    settings = settings_of(place, admin, transmitter)
    for name, address in (("one", "248@example.com"), ("nobody", "nobody@example.com")):
        transmitter.send(name, "caep/event-type/session-revoked", {"format": "email", "email": address})
    said = run_bridge(settings, admin, transmitter)
    assert sorted(transmitter.acknowledged) == ["nobody", "one"], said
    assert said.count("the user eve has more in the registry than can be listed") == 2, said
    assert "session-revoked: 1 ordered" in said and "session-revoked: 0 ordered" in said, said
    laptop.fleet("run", "--once")
    assert laptop.state("248") == ("signed-out", "remote")
    transmitter.http.shutdown()


def test_an_event_of_the_identity_provider_ends_the_sessions_of_a_person(place, server):
    _, admin, laptop = company(place, server)
    transmitter = Transmitter()
    people = {}
    for subject in ("248", "249", "250"):
        people[subject] = laptop.sign_in(
            server, account=subject, id_token=id_token(subject, f"{subject}@example.com"))
    laptop.start()
    wait_until(lambda: len(laptop.sessions()) == 3, "the publication")
    settings = settings_of(place, admin, transmitter)
    revoked, disabled = "caep/event-type/session-revoked", "risc/event-type/account-disabled"
    person = {"format": "iss_sub", "iss": ISSUER, "sub": "248"}
    transmitter.send("one", revoked, person)
    transmitter.send("two", disabled, {"format": "email", "email": "249@example.com"}, algorithm="ES256")
    transmitter.send("nobody", revoked, {"format": "email", "email": "nobody@example.com"})
    transmitter.send("other", revoked, {"format": "email", "email": "250@example.com"}, aud="https://another.example.com")
    transmitter.send("old", revoked, {"format": "email", "email": "250@example.com"}, at=1000)
    transmitter.send("odd", revoked, {"format": "iss_sub", "iss": ISSUER})
    transmitter.send("forged", revoked, {"format": "email", "email": "250@example.com"})
    transmitter.waiting["forged"] = transmitter.waiting["forged"][:-8] + "AAAAAAAA"
    run_bridge(settings, admin, transmitter)
    assert sorted(transmitter.acknowledged) == ["nobody", "old", "one", "two"]
    assert transmitter.errors["other"]["description"] == "another audience"
    assert "sub" in transmitter.errors["odd"]["description"]
    assert transmitter.errors["forged"]["description"] == "a wrong signature"
    for subject in ("248", "249"):
        wait_until(lambda: laptop.state(subject) == ("signed-out", "remote"), "the sign-out")
        wait_until(lambda: people[subject].is_revoked, "the grant's end")
    assert laptop.state("250")[0] == "user"
    assert os.path.getsize(f"{place.directory}/seen") > 0
    # The same event again gives no order to a session that began since.
    laptop.sign_in(server, account="248", id_token=id_token("248", "248@example.com"))
    assert laptop.state("248")[0] == "user"
    transmitter.http.shutdown()
