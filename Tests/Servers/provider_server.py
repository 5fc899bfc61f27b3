#!/usr/bin/env python3
"""The servers of docs/signing-in.md under their own names, for a network namespace without others.

Usage: provider_server.py DIRECTORY NAME...

Makes an authority and a certificate for the NAMEs in DIRECTORY (ca.pem), prints "ready" and serves them on 127.0.0.1:443
until it is killed. Each request becomes a line "METHOD HOST/PATH" in DIRECTORY/requests. The client's secret, if it has
one, is "client-secret".
"""
import base64
import fcntl
import json
import secrets
import socket
import ssl
import struct
import sys
import threading
import urllib.parse

from lying_server import certificate, challenge, openssl, read_request, respond

DIRECTORY, NAMES = sys.argv[1], sys.argv[2:]
CODES, REFRESH_TOKENS, ACCESS_TOKENS, POLLS = {}, set(), set(), []


def bring_up_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up = 1
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", up))  # SIOCSIFFLAGS


def issuer_of(host, path):
    """Auth0's issuer ends with a slash."""
    return f"https://{host}{path}" + ("/" if host.endswith(".auth0.com") else "")


def metadata(host, path):
    base = f"https://{host}{path}"
    return {"issuer": issuer_of(host, path), "authorization_endpoint": base + "/authorize",
            "token_endpoint": base + "/token", "revocation_endpoint": base + "/revoke",
            "userinfo_endpoint": base + "/userinfo"}


def id_token(client, issuer, nonce):
    def part(json_object):
        return base64.urlsafe_b64encode(json.dumps(json_object).encode()).decode().rstrip("=")

    claims = {"iss": issuer, "aud": client, "exp": 4102444800, "sub": "1", "preferred_username": "ann", "nonce": nonce}
    return ".".join([part({"alg": "RS256"}), part(claims), "c2lnbmF0dXJl"])


def tokens(**more):
    answer = {"access_token": secrets.token_hex(8), "token_type": "Bearer", "expires_in": 3600,
              "refresh_token": secrets.token_hex(8), **more}
    ACCESS_TOKENS.add(answer["access_token"])
    REFRESH_TOKENS.add(answer["refresh_token"])
    return answer


def authorize(host, path, asked):
    code = secrets.token_hex(8)
    prefix = path[:-len("/authorize")] if path.count("/") > 2 or host.endswith((".okta.com", ".auth0.com")) else ""
    CODES[code] = {**asked, "issuer": issuer_of(host, "" if path.startswith(("/o/", "/oauth/")) else prefix)}
    return f"{asked['redirect_uri']}?{urllib.parse.urlencode({'code': code, 'state': asked['state']})}"


def token(form):
    """The status and the answer of a token endpoint."""
    if form["grant_type"].endswith(":device_code"):
        POLLS.append(form["device_code"])
        # GitHub refuses with status 200.
        return (200, {"error": "authorization_pending"}) if len(POLLS) == 1 else (200, tokens())
    if form["grant_type"] == "refresh_token":
        return (200, tokens()) if form["refresh_token"] in REFRESH_TOKENS else (400, {"error": "invalid_grant"})
    asked = CODES.pop(form["code"])
    is_right = (challenge(form["code_verifier"]) == asked["code_challenge"]
                and form["redirect_uri"] == asked["redirect_uri"] and form["client_id"] == asked["client_id"]
                and form.get("client_secret", "client-secret") == "client-secret")
    if not is_right:
        return 400, {"error": "invalid_grant"}
    more = {}
    if "nonce" in asked:
        more["id_token"] = id_token(form["client_id"], asked["issuer"], asked["nonce"])
    return 200, tokens(**more)


def answer(connection, method, place, headers, body):
    host = headers["host"]
    path, _, query = place.partition("?")
    form = dict(urllib.parse.parse_qsl(body))
    well_known = "/.well-known/openid-configuration"
    if path.endswith(well_known):
        return respond(connection, 200, metadata(host, path[:-len(well_known)]))
    if path.endswith(("/authorize", "/auth")):
        address = authorize(host, path, dict(urllib.parse.parse_qsl(query)))
        return respond(connection, 302, headers=[f"Location: {address}"])
    if path.endswith("/code"):
        return respond(connection, 200, {
            "device_code": "device-1", "user_code": "WDJB-MJHT", "interval": 1, "expires_in": 60,
            "verification_uri": f"https://{host}/login/device"})
    if method == "POST" and path.endswith("token"):
        return respond(connection, *token(form))
    if method == "POST" and path.endswith("/revoke"):
        REFRESH_TOKENS.discard(form["token"])
        return respond(connection, 200)
    if method == "GET" and "authorization" in headers:
        is_known = headers["authorization"].removeprefix("Bearer ") in ACCESS_TOKENS
        return respond(connection, 200 if is_known else 401, b'{"login": "ann"}\n' if is_known else b"")
    return respond(connection, 404)


def serve(connection, context):
    try:
        with context.wrap_socket(connection, server_side=True) as connection:
            request = read_request(connection)
            if request:
                method, path, headers, body = request
                with open(f"{DIRECTORY}/requests", "a", encoding="utf-8") as file:
                    file.write(f"{method} {headers['host']}{path.split('?')[0]}\n")
                answer(connection, method, path, headers, body)
    except (OSError, ValueError, KeyError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)


def main():
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key",
            "-out", "ca.pem", "-days", "2", "-subj", "/CN=tests")
    certificate("providers", ",".join(f"DNS:{name}" for name in NAMES))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{DIRECTORY}/providers.pem", f"{DIRECTORY}/providers.key")
    bring_up_loopback()
    listener = socket.create_server(("127.0.0.1", 443), backlog=64)
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, context), daemon=True).start()


if __name__ == "__main__":
    main()
