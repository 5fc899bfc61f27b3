"""django-oauth-toolkit on loopback, on SQLite, in a directory of its own."""
import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

PACKAGES = ["django-oauth-toolkit==3.4.1", "oauthlib<4"]
CLIENT = "tests"

SETTINGS = """
SECRET_KEY = "of a test"
DEBUG = True
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "oauth2_provider"]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": "{directory}/data"}}}}
ROOT_URLCONF = "addresses"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
OAUTH2_PROVIDER = {{
    "SCOPES": {{"read": "reading"}}, "ROTATE_REFRESH_TOKEN": True, "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": {grace}, "PKCE_REQUIRED": False}}
"""
ADDRESSES = """
from django.http import HttpResponse
from django.urls import include, path
from oauth2_provider.decorators import protected_resource


@protected_resource()
def me(request):
    return HttpResponse("ann")


urlpatterns = [path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")), path("me", me)]
"""
ACCOUNTS = f"""
from django.contrib.auth.models import User
from oauth2_provider.models import Application
ann = User.objects.create_user("ann", password="horse")
Application.objects.create(client_id="{CLIENT}", user=ann, client_type="public", authorization_grant_type="password")
"""


class Missing(Exception):
    """What the server needs cannot be had."""


def install(directory):
    """A Python with the server's packages. It is made once for all servers."""
    python = directory + "/python/bin/python"
    for command in ([sys.executable, "-m", "venv", directory + "/python"], [python, "-m", "pip", "install", "-q", *PACKAGES]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Missing(f"{' '.join(command[-3:])}: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    return python


class DjangoServer:
    """Runs while its `with` block does. `grace`: seconds for which a used refresh token is taken again."""

    def __init__(self, python, directory, grace):
        self.python, self.directory = python, directory
        os.mkdir(directory)
        for name, text in (
                ("settings.py", SETTINGS.format(directory=directory, grace=grace)), ("addresses.py", ADDRESSES)):
            with open(f"{directory}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = directory + "/log"
        self.process = None

    def manage(self, *arguments):
        return [self.python, "-m", "django", *arguments]

    @property
    def environment(self):
        return {"PATH": os.environ["PATH"], "PYTHONPATH": self.directory, "DJANGO_SETTINGS_MODULE": "settings", "PYTHONUNBUFFERED": "1"}

    def __enter__(self):
        for arguments in (["migrate", "-v0"], ["shell", "-c", ACCOUNTS]):
            subprocess.run(self.manage(*arguments), env=self.environment, check=True, capture_output=True)
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                self.manage("runserver", "--noreload", f"127.0.0.1:{self.port}"), env=self.environment, stdout=log, stderr=log)
        end = time.monotonic() + 30
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                    return
            except OSError:
                assert self.process.poll() is None and time.monotonic() < end, open(self.log, encoding="utf-8").read()

    def stop(self):
        self.process.kill()
        self.process.wait()

    def post(self, path, **fields):
        """The status and the body of a request."""
        data = urllib.parse.urlencode({"client_id": CLIENT, **fields}).encode()
        try:
            with urllib.request.urlopen(self.address + path, data, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def sign_in(self):
        """A token response."""
        status, body = self.post("/o/token/", grant_type="password", username="ann", password="horse", scope="read")
        assert status == 200, body
        return json.loads(body)

    def accepts(self, token):
        """Whether the server's resource takes an access token."""
        request = urllib.request.Request(self.address + "/me", headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status == 200
        except urllib.error.HTTPError:
            return False

    def token_requests(self):
        with open(self.log, encoding="utf-8") as log:
            return sum('"POST /o/token/' in line for line in log)

    def newest_is_revoked(self):
        """Whether the refresh token that was given last is revoked."""
        data = sqlite3.connect(f"file:{self.directory}/data?mode=ro", uri=True, timeout=30)
        try:
            row = data.execute("select revoked from oauth2_provider_refreshtoken order by id desc limit 1").fetchone()
            return row[0] is not None
        finally:
            data.close()
