"""Glewlwyd on SQLite, with one OIDC plugin whose refresh tokens are for one use. It refuses with 400 and an empty body."""
import base64
import glob
import gzip
import http.cookiejar
import json
import os
import shutil
import sqlite3
import subprocess
import urllib.request

from loopback_server import PATIENCE, LoopbackServer, Missing, free_port, request

LIBRARY = "/usr/lib/glewlwyd"
SCHEMA = "/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3"
CLIENT, SECRET = "tests", "secret"
CONFIGURATION = """
port={port}
bind_address="127.0.0.1"
external_url="{address}"
api_prefix="{api}"
static_files_path="{directory}"
log_mode="console"
log_level="INFO"
cookie_domain="{host}"
cookie_secure=0
session_expiration=3600
session_key="SESSION"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="{library}/user"
user_middleware_module_path="{directory}"
client_module_path="{library}/client"
user_auth_scheme_module_path="{library}/scheme"
plugin_module_path="{library}/plugin"
{connection}
hash_algorithm="SHA512"
database = {{ type = "sqlite3"; path = "{directory}/data"; }};
"""


class GlewlwydServer(LoopbackServer):
    """A used refresh token ends its chain."""

    # The first parts of the paths of its own interface, and of the plugin's.
    api, plugin = "api", "oidc"
    connection = "use_secure_connection=0"
    client = f"-u {CLIENT}:{SECRET}"
    client_id, secret = CLIENT, SECRET
    token_path, revoke_path = "/api/oidc/token", "/api/oidc/revoke"
    browser_client = device_client = CLIENT
    issuer_path, device_path = "/api/oidc", "/api/oidc/device_authorization"
    scopes = ["openid", "read"]
    client_fields = {
        "confidential": True, "password": SECRET, "client_secret": SECRET,
        "authorization_type": ["password", "refresh_token", "code", "device_authorization"],
        "token_endpoint_auth_method": ["client_secret_basic"]}
    address_suffix = "&g_continue"

    def __init__(self, directory, port=None, address=None, redirect=None):
        super().__init__(directory)
        self.port, self.address = port or self.port, address or self.address
        # It compares the port as well.
        self.redirect = redirect or f"http://127.0.0.1:{free_port()}/callback"
        if shutil.which("glewlwyd") is None or not glob.glob(LIBRARY + "/plugin/*oidc*"):
            raise Missing("there is no Glewlwyd: scripts/install-dependencies.sh")
        with open(directory + "/configuration", "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(
                port=self.port, address=self.address, host=self.address.split("/")[2].split(":")[0], api=self.api,
                connection=self.connection, directory=directory, library=LIBRARY))

    def command(self):
        return ["glewlwyd", "-c", self.directory + "/configuration"], {"PATH": os.environ["PATH"]}

    def __enter__(self):
        self.make_data()
        self.start()
        try:
            self.set_up()
        except BaseException:
            # No `with` block ends a server that it did not get.
            self.stop()
            raise
        return self

    def make_data(self):
        opened = open if os.path.exists(SCHEMA) else lambda path, *rest, **options: gzip.open(path + ".gz", *rest, **options)
        with opened(SCHEMA, "rt", encoding="utf-8") as schema:
            data = sqlite3.connect(self.directory + "/data")
            data.executescript(schema.read())
            data.close()

    def set_up(self):
        """Adds plugin, scope, user and client by the administration interface."""
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

        def add(kind, **fields):
            headers = {"Content-Type": "application/json"}
            opener.open(urllib.request.Request(f"{self.address}/{self.api}/{kind}/", json.dumps(fields).encode(), headers), timeout=PATIENCE)

        add("auth", username="admin", password="password")
        add("mod/plugin", module="oidc", name=self.plugin, display_name="OIDC", parameters={
            "iss": self.address + self.issuer_path, "jwt-type": "sha", "jwt-key-size": "256", "key": "of a test",
            "access-token-duration": 3600, "refresh-token-duration": 86400, "code-duration": 600,
            "refresh-token-rolling": True, "refresh-token-one-use": "always", "allow-non-oidc": True,
            "auth-type-client-enabled": False, "auth-type-code-enabled": True, "auth-type-hybrid-enabled": False,
            "auth-type-device-enabled": True, "device-authorization-expiration": 600, "device-authorization-interval": 1,
            "pkce-allowed": True, "pkce-scopes": [],
            "auth-type-implicit-enabled": False, "auth-type-password-enabled": True, "auth-type-refresh-enabled": True,
            "subject-type": "public", "introspection-revocation-allowed": True,
            "introspection-revocation-allow-target-client": True, "claims": [
                {"name": "preferred_username", "user-property": "username", "type": "string", "mandatory": True, "scope": []}]})
        for name in self.scopes:
            if name != "openid":
                add("scope", name=name, display_name=name, password_required=True, scheme={})
        add("user", username="ann", password="horsehorse", enabled=True, scope=self.scopes)
        add("client", client_id=self.client_id, enabled=True, redirect_uri=[self.redirect], scope=[], **self.client_fields)

    def enter(self, jar):
        """Signs ann in, who grants the client its scopes."""
        for method, path, fields in (("POST", "", {"username": "ann", "password": "horsehorse"}),
                                     ("PUT", "grant/" + self.client_id, {"scope": " ".join(self.scopes)})):
            subprocess.run(
                ["curl", "-sf", "-c", jar, "-b", jar, "-X", method, "-H", "Content-Type: application/json", "-d",
                 json.dumps(fields), f"{self.address}/{self.api}/auth/{path}"], check=True, timeout=PATIENCE)

    def approve(self, user_code, jar):
        """Types the code of a device, and approves it, as ann does on another device."""
        self.enter(jar)
        subprocess.run(
            ["curl", "-sf", "-b", jar, "-o", os.devnull, f"{self.address}/api/oidc/device?code={user_code}&g_continue"],
            check=True, timeout=PATIENCE)

    @property
    def as_client(self):
        return {"Authorization": "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()}

    def sign_in(self):
        """A token response."""
        status, body = self.post(
            self.token_path, self.as_client, grant_type="password", username="ann", password="horsehorse", scope="read")
        assert status == 200, body
        return json.loads(body)

    def revoke(self, token):
        status, body = self.post(self.revoke_path, self.as_client, token=token)
        assert status == 200, body

    def accepts(self, token):
        """Whether the server's resource takes an access token."""
        return request(f"{self.address}/api/oidc/userinfo", headers={"Authorization": f"Bearer {token}"})[0] == 200

    def has_ended(self, _):
        """Whether the newest session is over. Its access token stays valid to its end."""
        return self.newest_is_revoked()

    def newest_is_revoked(self):
        """Whether the refresh token that was given last is revoked."""
        data = sqlite3.connect(f"file:{self.directory}/data?mode=ro", uri=True, timeout=PATIENCE)
        try:
            return data.execute("select gpor_enabled from gpo_refresh_token order by gpor_id desc limit 1").fetchone() == (0,)
        finally:
            data.close()
