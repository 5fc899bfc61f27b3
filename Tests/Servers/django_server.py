"""django-oauth-toolkit on SQLite."""
import http.cookiejar
import json
import os
import sqlite3
import subprocess
import sys
import urllib.parse
import urllib.request

from loopback_server import PATIENCE, LoopbackServer, Missing, request

PACKAGES = ["django-oauth-toolkit==3.4.1", "oauthlib<4"]
CLIENT, BROWSER, DEVICE = "tests", "browser", "device"

SETTINGS = """
SECRET_KEY = "of a test"
DEBUG = True
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider"]
MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware"]
TEMPLATES = [{{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}}]
LOGIN_URL = "/enter"
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": "{directory}/data"}}}}
ROOT_URLCONF = "addresses"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
OAUTH2_PROVIDER = {{
    "SCOPES": {{"read": "reading", "openid": "identity"}}, "ROTATE_REFRESH_TOKEN": True, "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": {grace}, "PKCE_REQUIRED": True, "OIDC_ENABLED": True,
    "OIDC_RSA_PRIVATE_KEY": open("{directory}/key").read(), "OAUTH_DEVICE_VERIFICATION_URI": "{address}/o/device/"}}
"""
ADDRESSES = """
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import include, path
from oauth2_provider.decorators import protected_resource
from oauth2_provider.urls import metadata_urlpatterns


@protected_resource()
def me(request):
    return HttpResponse("ann")


def enter(request):
    # As a page with a password would.
    login(request, User.objects.get(username="ann"))
    return HttpResponseRedirect(request.GET["next"])


urlpatterns = [
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")), path("me", me), path("enter", enter),
    path("", include((metadata_urlpatterns, "oauth2_metadata")))]
"""
ACCOUNTS = f"""
from django.contrib.auth.models import User
from oauth2_provider.models import Application
ann = User.objects.create_user("ann", password="horse")
Application.objects.create(client_id="{CLIENT}", user=ann, client_type="public", authorization_grant_type="password")
Application.objects.create(
    client_id="{BROWSER}", user=ann, client_type="public", authorization_grant_type="authorization-code", algorithm="RS256",
    redirect_uris="http://127.0.0.1/callback", skip_authorization=True)
Application.objects.create(
    client_id="{DEVICE}", user=ann, client_type="public", algorithm="RS256",
    authorization_grant_type="urn:ietf:params:oauth:grant-type:device_code")
"""


def python_of(directory):
    return directory + "/python/bin/python"


def install(directory):
    """A Python with the server's packages. It is made once for all servers."""
    python = python_of(directory)
    for command in ([sys.executable, "-m", "venv", directory + "/python"], [python, "-m", "pip", "install", "-q", *PACKAGES]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Missing(f"{' '.join(command[-3:])}: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    return python


class DjangoServer(LoopbackServer):
    """`grace`: seconds for which a used refresh token is taken again."""

    client = f"-d client_id={CLIENT}"
    client_id, secret = CLIENT, None
    token_path, revoke_path = "/o/token/", "/o/revoke_token/"
    browser_client, device_client, issuer_path = BROWSER, DEVICE, "/o"
    device_path = "/o/device-authorization/"

    def __init__(self, python, directory, grace):
        super().__init__(directory)
        self.python = python
        subprocess.run(["openssl", "genrsa", "-out", directory + "/key", "2048"], check=True, capture_output=True)
        for name, text in (
                ("settings.py", SETTINGS.format(directory=directory, grace=grace, address=self.address)), ("addresses.py", ADDRESSES)):
            with open(f"{directory}/{name}", "w", encoding="utf-8") as file:
                file.write(text)

    def manage(self, *arguments):
        return [self.python, "-m", "django", *arguments]

    @property
    def environment(self):
        return {"PATH": os.environ["PATH"], "PYTHONPATH": self.directory, "DJANGO_SETTINGS_MODULE": "settings", "PYTHONUNBUFFERED": "1"}

    def command(self):
        return self.manage("runserver", "--noreload", f"127.0.0.1:{self.port}"), self.environment

    def __enter__(self):
        for arguments in (["migrate", "-v0"], ["shell", "-c", ACCOUNTS]):
            subprocess.run(self.manage(*arguments), env=self.environment, check=True, capture_output=True)
        self.start()
        return self

    def sign_in(self):
        """A token response."""
        status, body = self.post(
            self.token_path, client_id=CLIENT, grant_type="password", username="ann", password="horse", scope="read")
        assert status == 200, body
        return json.loads(body)

    def approve(self, user_code, _):
        """Types the code of a device, and approves it, as ann does on another device."""
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        opener.open(self.address + "/enter?next=/o/device/", timeout=PATIENCE)
        asked = opener.open(f"{self.address}/o/device/", urllib.parse.urlencode({"user_code": user_code}).encode(), timeout=PATIENCE)
        opener.open(asked.url, b"action=accept", timeout=PATIENCE)

    def revoke(self, token):
        status, body = self.post(self.revoke_path, client_id=CLIENT, token=token)
        assert status == 200, body

    def accepts(self, token):
        """Whether the server's resource takes an access token."""
        return request(self.address + "/me", headers={"Authorization": f"Bearer {token}"})[0] == 200

    def has_ended(self, token):
        """Whether the session that has this access token is over. A revoked refresh token takes it along."""
        return not self.accepts(token)

    def newest_is_revoked(self):
        """Whether the refresh token that was given last is revoked."""
        data = sqlite3.connect(f"file:{self.directory}/data?mode=ro", uri=True, timeout=PATIENCE)
        try:
            row = data.execute("select revoked from oauth2_provider_refreshtoken order by id desc limit 1").fetchone()
            return row[0] is not None
        finally:
            data.close()
