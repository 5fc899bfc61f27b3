#!/usr/bin/python3
"""Turns events of an identity provider into sign-outs on all machines of a fleet.

Usage: caep-bridge.py SETTINGS      an operator runs it once per fleet, on the device that began it

Polls a stream of security events (RFC 8936, https://www.rfc-editor.org/rfc/rfc8936), verifies each event's token (RS256 or
ES256, issuer, audience, each id once), and orders the end of the person's sessions for CAEP's session-revoked and RISC's
account-disabled. An event is acknowledged when its orders are durable; else it comes again. Users who have too many keys
to be looked at are named on standard error, and hold up nobody's events. SETTINGS is a JSON file:

  {"poll": "https://id.example.com/ssf/poll", "token_item": ["id.example.com", "bridge"], "ca_file": null,
   "issuer": "https://id.example.com", "audience": "https://fleet.example.com",
   "keys": "https://id.example.com/jwks", "root_password_item": ["etcd", "root"], "seen": "/var/lib/fleet/seen",
   "options": ["--stack", "any required vault"]}

The stream's access token and the password of etcd's root are items of the store.
"""
import base64
import json
import os
import ssl
import subprocess
import sys
import time
import urllib.request

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

EVENTS = {
    "https://schemas.openid.net/secevent/caep/event-type/session-revoked": "session-revoked",
    "https://schemas.openid.net/secevent/risc/event-type/account-disabled": "account-disabled",
}
LONGEST = 1 << 20
UNKNOWN = 8  # fleet admin sign-out: no such person, which no repetition changes
UNLISTED = 9  # the orders are durable, but users with too many keys could not be looked at: an operator must
PAUSE = 30  # seconds between polls that brought nothing


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def number(text):
    return int.from_bytes(decoded(text), "big")


def verify(token, keys):
    """The claims of a token that one of the keys signed; ValueError for any other."""
    head, body, signature = token.split(".")
    header = json.loads(decoded(head))
    key = next((one for one in keys if one.get("kid") == header.get("kid")), None)
    if key is None:
        raise ValueError("an unknown key")
    data, signature = f"{head}.{body}".encode(), decoded(signature)
    try:
        if header["alg"] == "RS256" and key["kty"] == "RSA":
            rsa.RSAPublicNumbers(number(key["e"]), number(key["n"])).public_key().verify(
                signature, data, padding.PKCS1v15(), hashes.SHA256())
        elif header["alg"] == "ES256" and key["kty"] == "EC" and key["crv"] == "P-256" and len(signature) == 64:
            point = ec.EllipticCurvePublicNumbers(number(key["x"]), number(key["y"]), ec.SECP256R1()).public_key()
            der = utils.encode_dss_signature(int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
            point.verify(der, data, ec.ECDSA(hashes.SHA256()))
        else:
            raise ValueError("another algorithm")
    except InvalidSignature as error:
        raise ValueError("a wrong signature") from error
    return json.loads(decoded(body))


class Bridge:
    def __init__(self, settings):
        self.settings = settings
        self.context = ssl.create_default_context(cafile=settings.get("ca_file"))
        self.seen = set()
        if os.path.exists(settings["seen"]):
            with open(settings["seen"], encoding="utf-8") as file:
                self.seen = set(file.read().split("\n"))

    def tokenkeep(self, *arguments, given=None):
        return subprocess.run(
            [os.environ.get("TOKENKEEP", "tokenkeep"), *arguments, *self.settings.get("options", [])],
            input=given, capture_output=True, text=True, check=False)

    def item(self, name):
        loaded = self.tokenkeep("load", *self.settings[name])
        if loaded.returncode:
            sys.exit(loaded.stderr)
        return loaded.stdout.rstrip("\n")

    def fetch(self, address, body=None):
        headers = {"Accept": "application/json"}
        if body is not None:
            headers |= {"Content-Type": "application/json", "Authorization": f"Bearer {self.item('token_item')}"}
            body = json.dumps(body).encode()
        request = urllib.request.Request(address, body, headers)
        with urllib.request.urlopen(request, timeout=60, context=self.context) as answer:
            return json.loads(answer.read(LONGEST))

    def check(self, claims):
        audience = claims.get("aud")
        if claims.get("iss") != self.settings["issuer"]:
            raise ValueError("another issuer")
        if self.settings["audience"] not in (audience if isinstance(audience, list) else [audience]):
            raise ValueError("another audience")
        if not isinstance(claims.get("jti"), str) or not claims["jti"].isprintable() or not isinstance(claims.get("events"), dict):
            raise ValueError("no event")

    def order(self, claims):
        """Gives the orders for the events of a token. Returns whether they are durable, or nobody is meant."""
        for kind, event in claims["events"].items():
            if kind not in EVENTS:
                continue
            subject = claims.get("sub_id") or event.get("subject") or {}
            subject = subject.get("user", subject)  # a complex subject has a user
            if subject.get("format") == "iss_sub":
                person = [f"--issuer={subject['iss']}", f"--subject={subject['sub']}"]
            elif subject.get("format") == "email":
                person = [f"--email={subject['email']}"]
            else:
                continue
            at = event.get("event_timestamp", claims.get("toe", claims.get("iat")))
            before = ["--before", f"@{int(at)}"] if at else []
            done = self.tokenkeep("fleet", "admin", "sign-out", *person, *before, "--reason", EVENTS[kind],
                                  given=self.item("root_password_item") + "\n")
            if done.returncode not in (0, UNKNOWN):
                print(done.stderr, file=sys.stderr, flush=True)
                if done.returncode != UNLISTED:
                    return False
            print(f"{EVENTS[kind]}: {done.stdout.strip() or 'nobody'}", flush=True)
        return True

    def take(self, token, keys):
        """The error of a token that is refused for good, None for one that is done; False if it must come again."""
        try:
            claims = verify(token, keys)
            self.check(claims)
            if claims["jti"] in self.seen:
                return None
            if not self.order(claims):
                return False
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            return {"err": "invalid_request", "description": str(error)[:100]}
        with open(self.settings["seen"], "a", encoding="utf-8") as file:
            file.write(claims["jti"] + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.seen.add(claims["jti"])
        return None

    def poll(self, acknowledged, errors):
        """Takes what waits. Returns what is to be acknowledged next, and what is refused."""
        answer = self.fetch(self.settings["poll"], {
            "ack": acknowledged, "setErrs": errors, "maxEvents": 50, "returnImmediately": True})
        tokens = answer.get("sets", {})
        keys = self.fetch(self.settings["keys"])["keys"] if tokens else []
        results = {name: self.take(token, keys) for name, token in tokens.items()}
        return ([name for name, result in results.items() if result is None],
                {name: result for name, result in results.items() if result})


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        bridge = Bridge(json.load(file))
    acknowledged, errors = [], {}
    while True:
        try:
            acknowledged, errors = bridge.poll(acknowledged, errors)
        except (OSError, ValueError) as error:
            print(f"the stream: {error}", file=sys.stderr, flush=True)
        if not acknowledged and not errors:
            time.sleep(PAUSE)


if __name__ == "__main__":
    main()
