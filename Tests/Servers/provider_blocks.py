#!/usr/bin/python3
"""The blocks of docs/signing-in.md at real servers with the providers' names and addresses.

Usage: provider_blocks.py DIRECTORY PROGRAM PYTHON [BLOCK...]

Run it in a network and a mount namespace of its own (unshare -m -n): the names lead to this machine there, and an authority
of its own is the system's. PYTHON has django-oauth-toolkit. Microsoft's block is not here: neither server lets a redirect
address http://localhost have any port.
"""
import http.server
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading

from django_server import DjangoServer
from glewlwyd_server import GlewlwydServer
from loopback_server import request
from lying_server import certificate, openssl
from provider_server import bring_up_loopback
from run import succeeds

DIRECTORY, PROGRAM, PYTHON = sys.argv[1:4]
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/signing-in.md")
# Another address than the providers': they are on the same port.
RESOURCES = "127.0.0.2"
NAMES = ["localhost", "github.com", "api.github.com", "gitlab.com", "accounts.google.com", "oauth2.googleapis.com",
         "openidconnect.googleapis.com", "login.example.com", "example.okta.com", "example.eu.auth0.com"]
SETTINGS = """
ROOT_URLCONF = "provider_addresses"
OAUTH2_PROVIDER.update(
    OIDC_ISS_ENDPOINT="{issuer}", OAUTH2_VALIDATOR_CLASS="provider_addresses.Validator",
    OAUTH_DEVICE_VERIFICATION_URI="https://github.com/o/device/",
    SCOPES=dict.fromkeys(["openid", "email", "offline_access", "read_user"], ""))
"""
ADDRESSES = """
from addresses import enter, me
from django.http import JsonResponse
from django.urls import include, path
from oauth2_provider import views
from oauth2_provider.decorators import protected_resource
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauth2_provider.urls import metadata_urlpatterns


class Validator(OAuth2Validator):
    oidc_claim_scope = None

    def get_additional_claims(self, request):
        return {{"preferred_username": request.user.username}}


endpoints = {{
    "authorize": views.AuthorizationView, "token": views.TokenView, "revoke": views.RevokeTokenView,
    "device": views.DeviceAuthorizationView, "me": None}}
urlpatterns = [
    path(place, endpoints[name].as_view() if endpoints[name] else me) for name, place in {paths}.items()
] + [path("enter", enter), path("{mount}", include("oauth2_provider.urls", namespace="oauth2_provider")),
     path("", include((metadata_urlpatterns, "oauth2_metadata")))]
if "{mount}" == "o/":
    urlpatterns.append(path(".well-known/openid-configuration", views.ConnectDiscoveryInfoView.as_view()))
"""
APPLICATION = """
from django.contrib.auth.models import User
from oauth2_provider.models import Application
Application.objects.create(
    client_id="ID", user=User.objects.create_user("ann"), algorithm="RS256", skip_authorization=True, client_type="{kind}",
    client_secret="client-secret", redirect_uris="{redirect}", authorization_grant_type="{grant}")
"""
SERVE = """
import ssl
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application

server = ThreadedWSGIServer(("127.0.0.1", 443), WSGIRequestHandler)
server.set_app(get_wsgi_application())
server.base_environ["HTTPS"] = "on"
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("{directory}/servers.pem", "{directory}/servers.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""
BROWSER = """#!/bin/sh
server=$(curl -s -o /dev/null -w '%{{redirect_url}}' "$1")
curl -sL -c {home}/jar -b {home}/jar -o {home}/page "$server{suffix}"
exec python3 {tests}/send_form.py {home}/page
"""
TESTS = os.path.dirname(os.path.abspath(__file__))


class NamedDjango(DjangoServer):
    """django-oauth-toolkit with a provider's name, issuer, paths and client."""

    # GitHub has no endpoint for it.
    revokes = property(lambda self: self.host != "github.com")

    def __init__(self, name, issuer, mount="o/", redirect="http://127.0.0.1/callback", kind="public",
                 grant="authorization-code", **paths):
        super().__init__(PYTHON, f"{DIRECTORY}/{name}", 0)
        self.host = issuer.split("/")[2]
        self.port, self.address = 443, f"https://{self.host}"
        self.userinfo = f"{self.address}/{mount}userinfo/"
        self.application = APPLICATION.format(kind=kind, redirect=redirect, grant=grant)
        self.write("settings.py", SETTINGS.format(issuer=issuer), "a")
        self.write("provider_addresses.py", ADDRESSES.format(paths=paths, mount=mount))
        self.write("serve.py", SERVE.format(directory=DIRECTORY))

    def write(self, name, text, mode="w"):
        with open(f"{self.directory}/{name}", mode, encoding="utf-8") as file:
            file.write(text)

    def command(self):
        return [self.python, self.directory + "/serve.py"], self.environment

    def __enter__(self):
        # The tables are made once.
        empty = DIRECTORY + "/empty"
        if not os.path.exists(empty):
            subprocess.run(self.manage("migrate", "-v0"), env=self.environment, check=True, capture_output=True)
            os.rename(self.directory + "/data", empty)
        shutil.copy(empty, self.directory + "/data")
        subprocess.run(self.manage("shell", "-c", self.application), env=self.environment, check=True, capture_output=True)
        self.start()
        return self


class NamedGlewlwyd(GlewlwydServer):
    """Glewlwyd with Okta's name, issuer and paths."""

    # It lets no public client revoke a token.
    revokes = False
    api, plugin, issuer_path = "oauth2", "default", "/oauth2/default"
    client_id, scopes = "ID", ["openid", "offline_access"]
    client_fields = {"confidential": False, "authorization_type": ["refresh_token", "code"], "token_endpoint_auth_method": ["none"]}
    connection = (f'use_secure_connection=true\nsecure_connection_key_file="{DIRECTORY}/servers.key"\n'
                  f'secure_connection_pem_file="{DIRECTORY}/servers.pem"\nsecure_connection_ca_file="{DIRECTORY}/ca.pem"')
    userinfo = "https://example.okta.com/oauth2/default/userinfo"

    def __init__(self):
        super().__init__(f"{DIRECTORY}/okta", 443, "https://example.okta.com", "http://localhost:7890/callback")


def servers():
    """Each block's name with a server that is not running yet."""
    yield "GitHub", lambda: NamedDjango(
        "github", "https://github.com", grant="urn:ietf:params:oauth:grant-type:device_code",
        device="login/device/code", token="login/oauth/access_token", me="user")
    yield "GitLab", lambda: NamedDjango(
        "gitlab", "https://gitlab.com", redirect="http://localhost:7890/callback", authorize="oauth/authorize",
        token="oauth/token", revoke="oauth/revoke", me="api/v4/user")
    yield "Google", lambda: NamedDjango(
        "google", "https://accounts.google.com", kind="confidential", authorize="o/oauth2/v2/auth", token="token",
        revoke="revoke", me="v1/userinfo")
    yield "Keycloak", lambda: NamedDjango("keycloak", "https://login.example.com/realms/staff", mount="realms/staff/")
    yield "Okta", NamedGlewlwyd
    yield "Auth0", lambda: NamedDjango(
        "auth0", "https://example.eu.auth0.com/", mount="", redirect="http://localhost:7890/callback")


def blocks():
    with open(PAGE, encoding="utf-8") as page:
        return dict(re.findall(r"^### (\S+)\n.*?^```sh\n(.*?)^```", page.read(), re.MULTILINE | re.DOTALL))


def serve_resources(current):
    """api.example.com, which asks the authorization server about the token."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = request(current["server"].userinfo, headers={"Authorization": self.headers["Authorization"]})
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer((RESOURCES, 443), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{DIRECTORY}/servers.pem", f"{DIRECTORY}/servers.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def play(block, server):
    home = tempfile.mkdtemp(dir=DIRECTORY)
    for path, text in (("bin/tokenkeep", f'#!/bin/sh\nexec {PROGRAM} "$@"\n'),
                       ("bin/browser", BROWSER.format(tests=TESTS, home=home, suffix=server.address_suffix)),
                       (".config/tokenkeep/stack.d/default.conf", "any required vault\n")):
        os.makedirs(os.path.dirname(f"{home}/{path}"), exist_ok=True)
        with open(f"{home}/{path}", "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(f"{home}/{path}", 0o700 if path.startswith("bin/") else 0o600)
    server.enter(home + "/jar")
    environment = {
        "PATH": f"{home}/bin:{os.environ['PATH']}", "HOME": home, "XDG_CONFIG_HOME": home + "/.config",
        "TOKENKEEP_VAULT": home + "/vault", "BROWSER": home + "/bin/browser", "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", block], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True)
    watchdog = threading.Timer(60, lambda: os.killpg(process.pid, signal.SIGKILL))
    watchdog.start()
    with process.stdin as stdin:
        stdin.write("client-secret")
    output = ""
    for line in process.stdout:
        output += line
        code = re.search("type the code  (.*)$", line)
        if code:
            server.approve(code.group(1), home + "/jar")
    status = process.wait()
    watchdog.cancel()
    assert status == 0, output
    # The resource server took the token.
    assert "signed in as ann" in output and re.search(r"^(ann|\{)", output, re.MULTILINE), output
    assert server.newest_is_revoked() == server.revokes, output


def prepare():
    """Names, and an authority that this system trusts."""
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key",
            "-out", "ca.pem", "-days", "2", "-subj", "/CN=tests")
    certificate("servers", ",".join(f"DNS:{name}" for name in [*NAMES, "api.example.com"]))
    with open(DIRECTORY + "/hosts", "w", encoding="utf-8") as file:
        file.writelines(f"127.0.0.1 {name}\n" for name in NAMES)
        file.write(f"{RESOURCES} api.example.com\n")
    os.mkdir(DIRECTORY + "/system")
    with open(DIRECTORY + "/ca.pem", encoding="utf-8") as file:
        authority = file.read()
    digest = subprocess.run(
        ["openssl", "x509", "-in", DIRECTORY + "/ca.pem", "-noout", "-hash"], capture_output=True, text=True, check=True)
    for name in ("ca-certificates.crt", digest.stdout.strip() + ".0"):
        with open(f"{DIRECTORY}/system/{name}", "w", encoding="utf-8") as file:
            file.write(authority)
    for source, target in (("hosts", "/etc/hosts"), ("system", "/etc/ssl/certs")):
        subprocess.run(["mount", "--bind", f"{DIRECTORY}/{source}", target], check=True)
    bring_up_loopback()


def main():
    prepare()
    current, texts, failed = {}, blocks(), 0
    serve_resources(current)
    for name, make in servers():
        if sys.argv[4:] and name not in sys.argv[4:]:
            continue
        server = current["server"] = make()
        with server:
            kind = type(server).__name__.removeprefix("Named")
            failed += not succeeds(f"{name}'s block of docs/signing-in.md at {kind}", lambda: play(texts[name], server))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
