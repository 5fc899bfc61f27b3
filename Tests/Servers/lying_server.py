#!/usr/bin/env python3
"""A server for tests of requests: it answers by the path, and lies where a path says so.

Usage: lying_server.py DIRECTORY

Makes an authority and certificates in DIRECTORY (ca.pem), prints one line "NAME=PORT ..." and serves until it is
killed. Each request becomes a line "NAME METHOD PATH BODY AUTHORIZATION" in DIRECTORY/requests.
"""
import base64
import glob
import gzip
import hashlib
import json
import os
import secrets
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import zlib
from email.utils import formatdate

DIRECTORY = sys.argv[1]
LOCK = threading.Lock()
TOKENS = {"number": 1, "status": 200, "ports": {}, "polls": 0, "nonce": None}
CODES = {}
# What follows is {"encoded": "xxx…"} with 64 x.
PLAIN = json.dumps({"encoded": "x" * 64}).encode()
BROTLI = bytes.fromhex("1b4e00f88dd462cd19eed42278207b4ba72fff90a492e8e61b31a62a01")
ZSTD = bytes.fromhex("28b52ffd204fb50000807b22656e636f646564223a202278227d0100948012")
RAW = zlib.compressobj(wbits=-15)
ENCODED = {
    "gzip": ("gzip", gzip.compress(PLAIN)), "x-gzip": ("X-GZIP", gzip.compress(PLAIN)),
    "deflate": ("deflate", zlib.compress(PLAIN)), "raw": ("deflate", RAW.compress(PLAIN) + RAW.flush()),
    "br": ("br", BROTLI), "zstd": ("zstd", ZSTD), "twice": ("gzip, br", gzip.compress(BROTLI)),
    "unnamed": (None, gzip.compress(PLAIN)), "identity": ("identity", PLAIN), "charset": ("utf-8", PLAIN),
    "not-gzip": ("gzip", PLAIN), "not-br": ("br", PLAIN), "not-deflate": ("deflate", PLAIN), "not-zstd": ("zstd", PLAIN),
    "limit": ("gzip", gzip.compress(b"x" * 262144)), "bomb": ("gzip", gzip.compress(b"x" * 262145)),
    "cut": ("gzip", gzip.compress(PLAIN)[:-12]),
}

# Answers whose end is missing or wrong.
WHOLE = json.dumps({"access_token": "a"}).encode()


def chunked(body, *headers):
    lines = ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *headers, "", f"{len(body) + 1:x}", ""]
    return "\r\n".join(lines).encode() + body


FRAMED = {
    "gzip-long": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 100\r\n\r\n" + gzip.compress(WHOLE),
    "gzip-chunk": chunked(gzip.compress(WHOLE), "Content-Encoding: gzip"),
    "mark-chunk": chunked(b"\xef\xbb\xbf" + WHOLE), "plain-chunk": chunked(WHOLE),
}


def openssl(*arguments, at=None):
    # Not the program faketime: its shared memory may be left from another process of the same number.
    clock = {"LD_PRELOAD": glob.glob("/usr/lib/*/faketime/libfaketime.so.1")[0], "FAKETIME": at} if at else {}
    done = subprocess.run(
        ["openssl", *arguments], env={**os.environ, **clock}, cwd=DIRECTORY, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"openssl {arguments[0]}: {done.stderr}")


def certificate(name, subject, at=None, authority="ca"):
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
            "-out", f"{name}.csr", "-subj", f"/CN={name}")
    with open(os.path.join(DIRECTORY, f"{name}.ext"), "w", encoding="utf-8") as file:
        file.write(f"subjectAltName={subject}\n")
    signer = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"] if authority else ["-signkey", f"{name}.key"]
    openssl("x509", "-req", "-in", f"{name}.csr", *signer, "-days", "2", "-extfile", f"{name}.ext", "-out",
            f"{name}.pem", at=at)


def make_certificates():
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key",
            "-out", "ca.pem", "-days", "2", "-subj", "/CN=tests")
    certificate("https", "IP:127.0.0.1")
    certificate("expired", "IP:127.0.0.1", at="2020-01-01 00:00:00")
    certificate("selfsigned", "IP:127.0.0.1", authority=None)
    certificate("otherhost", "DNS:other.example")


def read_request(connection):
    """Method, path, headers and body; None if the connection ends before."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return None
        data += part
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ")
    headers = dict((line.split(": ", 1) + [""])[:2] for line in lines[1:])
    headers = {name.lower(): value for name, value in headers.items()}
    while len(body) < int(headers.get("content-length", "0")):
        part = connection.recv(65536)
        if not part:
            return None
        body += part
    return method, path, headers, body.decode("latin-1")


def respond(connection, status, body=b"", headers=()):
    if isinstance(body, dict):
        body = json.dumps(body).encode()
        headers = [*headers, "Content-Type: application/json"]
    lines = [f"HTTP/1.1 {status} Said", *headers, f"Content-Length: {len(body)}", "", ""]
    connection.sendall("\r\n".join(lines).encode() + body)


def tokens(form):
    number = TOKENS["number"]
    answer = {"access_token": f"access-{number}", "token_type": "Bearer", "expires_in": 3600,
              "refresh_token": f"refresh-{number}"}
    if "resource" in form:
        answer["access_token"] += "-" + form["resource"]
    return answer


def challenge(verifier):
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def authorize(connection, path):
    """Sends the browser back with a code, or with a lie."""
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query))
    assert asked["code_challenge_method"] == "S256", asked
    code = f"code-{secrets.token_hex(4)}"
    CODES[code] = (asked["code_challenge"], asked["redirect_uri"])
    TOKENS["nonce"] = asked.get("nonce")
    answer = {"code": code, "state": asked["state"]}
    if path.startswith("/authorize-used"):
        del CODES[code]
    if path.startswith("/authorize-refused"):
        answer = {"error": "access_denied", "state": asked["state"]}
    if path.startswith("/authorize-elsewhere"):
        answer["iss"] = "https://evil.example"
    if asked.get("response_mode") == "form_post":
        fields = "".join(f"<input type=hidden name={name} value={value}>" for name, value in answer.items())
        form = f"<form method=post action={asked['redirect_uri']}>{fields}</form>"
        return respond(connection, 200, f"<body onload=document.forms[0].submit()>{form}".encode(),
                       ["Content-Type: text/html", "Cache-Control: no-store"])
    respond(connection, 302, headers=[f"Location: {asked['redirect_uri']}?{urllib.parse.urlencode(answer)}"])


def grant(form):
    """The error of a grant of a sign-in; None if it is right."""
    if form["grant_type"] == "authorization_code":
        expected = CODES.pop(form.get("code"), None)
        found = (challenge(form.get("code_verifier", "")), form.get("redirect_uri"))
        return None if expected == found else "invalid_grant"
    TOKENS["polls"] += 1
    if form.get("device_code") != "device-1":
        return "invalid_grant"
    return "authorization_pending" if TOKENS["polls"] % 2 else None


def wait():
    """Waits until a writer opens the pipe."""
    with open(os.path.join(DIRECTORY, "gate"), encoding="utf-8") as gate:
        gate.read()


def id_token(subject, email):
    """An ID token for the client app, unsigned; without an address for "-"."""
    claims = {"aud": "app", "sub": subject, "exp": int(time.time()) + 600}
    if email != "-":
        claims["email"] = email
    if TOKENS["nonce"]:
        claims["nonce"] = TOKENS["nonce"]
    parts = [json.dumps(part).encode() for part in ({"alg": "none"}, claims)]
    return ".".join([base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts] + ["c2ln"])


def odd_tokens(given, members):
    """Adds members; with a "skew" the server's clock differs, and the access token is a JSON Web Token with a "life".

    Returns the headers.
    """
    if "skew" not in members:
        given |= members
        return []
    now = time.time() + members["skew"]
    claims = base64.urlsafe_b64encode(json.dumps({"exp": int(now + members["life"])}).encode()).decode().rstrip("=")
    given["access_token"] = f"e30.{claims}.c2ln"
    del given["expires_in"]
    return [f"Date: {formatdate(now, usegmt=True)}"]


def token(connection, form, is_scant=False, person=None, members=None):
    with LOCK:
        if form.get("grant_type") in ("authorization_code", "urn:ietf:params:oauth:grant-type:device_code"):
            error = grant(form)
            if error:
                return respond(connection, 400, {"error": error})
            TOKENS["number"] += 1
            given = tokens(form)
            if person:
                given["id_token"] = id_token(*person)
            if is_scant:
                del given["refresh_token"]
                given["scope"] = "read"
            return respond(connection, 200, given, odd_tokens(given, members or {}))
        if form.get("refresh_token") != f"refresh-{TOKENS['number']}":
            return respond(connection, 400, {"error": "invalid_grant"})
        TOKENS["number"] += 1
        return respond(connection, 200, tokens(form))


def bearer(connection, headers, answer):
    is_right = headers.get("authorization") == f"Bearer access-{TOKENS['number']}"
    respond(connection, 200 if is_right else 401, answer if is_right else {})


def metadata(name, path):
    """Metadata of this server, by its issuer's path; some are lies. None of them while the file `gone` is there."""
    if os.path.exists(os.path.join(DIRECTORY, "gone")):
        return None
    scheme = "http" if name == "http" else "https"
    base = f"{scheme}://127.0.0.1:{TOKENS['ports'][name]}"
    for place, is_inserted in (("/.well-known/oauth-authorization-server", True),
                               ("/.well-known/openid-configuration", False)):
        if is_inserted and path.startswith(place):
            issuer = path[len(place):]
        elif not is_inserted and path.endswith(place):
            issuer = path[:-len(place)]
        else:
            continue
        if issuer == "/oidc" and is_inserted or issuer == "/none":
            return None
        answer = {"issuer": base + issuer, "authorization_endpoint": base + "/authorize",
                  "token_endpoint": base + "/token", "revocation_endpoint": base + "/revoke",
                  "device_authorization_endpoint": base + "/device"}
        if issuer == "/form":
            answer["response_modes_supported"] = ["query", "form_post"]
        if issuer == "/otherissuer":
            answer["issuer"] = base + "/other"
        if issuer == "/moved":
            answer["token_endpoint"] = base + "/nowhere"
        if issuer == "/plain":
            answer["token_endpoint"] = "http://example.com/token"
        if issuer == "/notext":
            answer["token_endpoint"] = 7
        if issuer == "/blank":
            answer |= {"end_session_endpoint": None, "revocation_endpoint": "", "device_authorization_endpoint": "/device"}
        if is_inserted and issuer == "/noissuer":
            return {"error": "not found"}
        if is_inserted and issuer == "/twoissuers":
            answer["issuer"] = base + "/other"
        return answer
    return None


def answer(connection, name, method, path, headers, body):
    form = dict(urllib.parse.parse_qsl(body))
    place = path.split("?")[0]
    if place == "/token":
        if form.get("device_code") and TOKENS["polls"] % 2 and os.path.exists(os.path.join(DIRECTORY, "gate")):
            wait()
        return token(connection, form)
    if place.startswith("/authorize"):
        return authorize(connection, path)
    if place == "/device":
        return respond(connection, 200, {
            "device_code": "device-1", "user_code": "WDJB-MJHT", "interval": 1, "expires_in": 60,
            "verification_uri": "https://login.example.com/device"})
    if place == "/waits":
        wait()
        return token(connection, form)
    if place == "/revoke":
        return respond(connection, 200)
    if place == "/me":
        return bearer(connection, headers, {})
    if place == "/extend":
        return bearer(connection, headers, {"expires_in": int(form.get("seconds", form.get("minutes", "0")))})
    if place.startswith("/.well-known/") and place.endswith("/cutoff"):
        return None
    if "/.well-known/" in place:
        found = metadata(name, place)
        return respond(connection, 200 if found else 404, found or {})
    if place == "/scant":
        return token(connection, form, is_scant=True)
    if place.startswith("/token-as/"):
        return token(connection, form, person=place.split("/")[2:4])
    if place.startswith("/token-with/"):
        return token(connection, form, members=json.loads(bytes.fromhex(place.split("/")[2])))
    if place.startswith("/user/"):
        return respond(connection, 200, {"sub": place.split("/")[2], "login": place.split("/")[3]})
    if place == "/end":
        return respond(connection, 200, b"signed out")
    if place == "/wordless":
        return respond(connection, 400)
    if place == "/refuses":
        return respond(connection, 200, {"error": "bad_refresh_token"})
    if place == "/echo":
        return respond(connection, 200, {"method": method, "headers": headers, "body": body})
    if place == "/cookie":
        return respond(connection, 200, headers=["Set-Cookie: planted=1; Path=/"])
    if place == "/redirect":
        return respond(connection, 302, headers=["Location: /echo"])
    if place.startswith("/encoded-"):
        encoding, content = ENCODED[place.removeprefix("/encoded-")]
        return respond(connection, 200, content, [f"Content-Encoding: {encoding}"] if encoding else [])
    if place == "/huge":
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(160):
            connection.sendall(b"x" * 65536)
        return None
    if place == "/limit":
        return respond(connection, 200, b"x" * 262144)
    if place == "/headers":
        return respond(connection, 503, headers=["Retry-After:  7 ", "date: Thu, 01 Jan 2026 00:00:00 GMT"])
    if place == "/hangs":
        connection.recv(1)
        return None
    if place == "/cuts":
        return None
    if place == "/half":
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        return None
    if place.startswith("/framed-"):
        return connection.sendall(FRAMED[place.removeprefix("/framed-")])
    if place == "/hints":
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\nContent-Encoding: br\r\nRetry-After: 9\r\n"
                           b"Date: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: text/html\r\n\r\n")
        return respond(connection, 200, {})
    if place == "/keeps":
        # The connection stays, as for another request; the next one on it would find it dead.
        respond(connection, 200, {})
        request = read_request(connection)
        if request:
            log(name, *request)
        return None
    return respond(connection, 404)


def log(name, method, path, headers, body):
    with LOCK, open(os.path.join(DIRECTORY, "requests"), "a", encoding="utf-8") as file:
        file.write(" ".join([name, method, path, body, headers.get("authorization", "")]).rstrip() + "\n")


def serve(connection, name, context):
    try:
        if context:
            connection = context.wrap_socket(connection, server_side=True)
        if name == "http2":
            return serve_http2(connection, name)
        request = read_request(connection)
        if request:
            log(name, *request)
            answer(connection, name, *request)
    except (OSError, ValueError):
        pass
    finally:
        connection.close()


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def exactly(connection, count):
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise OSError("the client went away")
        data += part
    return data


def serve_http2(connection, name):
    """Answers one request by HTTP/2 (RFC 9113) alone: {"version": 2}."""
    exactly(connection, 24)
    connection.sendall(frame(4, 0, 0))
    body = b""
    while True:
        head = exactly(connection, 9)
        payload = exactly(connection, int.from_bytes(head[:3], "big"))
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
        if kind == 4 and not flags & 1:
            connection.sendall(frame(4, 1, 0))
        if kind == 0:
            body += payload
        if kind in (0, 1) and flags & 1:
            break
    log(name, "POST", "/", {}, body.decode("latin-1")) if body else log(name, "GET", "/", {}, "")
    # :status 200 is entry 8 of HPACK's table, content-type 31.
    fields = b"\x88" + bytes([0x0F, 16, 16]) + b"application/json"
    connection.sendall(frame(1, 4, stream, fields) + frame(0, 1, stream, b'{"version": 2}'))
    connection.recv(65536)


def listen(name, is_tls):
    context = None
    if is_tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certified = "https" if name == "http2" else name
        context.load_cert_chain(
            os.path.join(DIRECTORY, f"{certified}.pem"), os.path.join(DIRECTORY, f"{certified}.key"))
        context.set_alpn_protocols(["h2" if name == "http2" else "http/1.1"])
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, name, context), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def main():
    make_certificates()
    open(os.path.join(DIRECTORY, "requests"), "w", encoding="utf-8").close()
    names = {"http": False, "https": True, "http2": True, "expired": True, "selfsigned": True, "otherhost": True}
    for name, is_tls in names.items():
        TOKENS["ports"][name] = listen(name, is_tls)
    # The kernel takes its connections, and nobody answers them.
    silent = socket.create_server(("127.0.0.1", 0), backlog=64)
    TOKENS["ports"]["silent"] = silent.getsockname()[1]
    print(" ".join(f"{name}={port}" for name, port in TOKENS["ports"].items()), flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
