"""Whole processes that print a token, with a refresh by libcurl and without, beside scripts; and the start of the library with and without libcurl."""
import json
import os
import shutil
import subprocess
import sys

from harness import HERE, PREFIX, WORK, build, run, table
from password_figures import tokenkeep
from vault_figures import measured_in_turns

sys.path.insert(0, os.path.join(HERE, "..", "Servers"))
from rotating_server import RotatingServer  # noqa: E402  (beside this directory)

ROUNDS = 20
STARTS = 200
SERVICE = "bench.example"
# For ever, as the scripts send the same refresh token again.
OVERLAP = 10**9
REFRESH = """#!/bin/sh
set -e
jq -j .refresh_token "$1" | curl -sf -d grant_type=refresh_token --data-urlencode refresh_token@- "$2/token" >"$1.new"
{sync}
mv "$1.new" "$1"
{sync_folder}
exec jq -r .access_token "$1"
"""
HIDE = """#!/bin/sh
for library in $(ldconfig -p | sed -n 's/.*libcurl\\(-gnutls\\)\\?\\.so\\.4 .*=> //p'); do mount --bind /dev/null "$library" || exit 1; done
exec "$@"
"""


def write(name, text, mode=0o700):
    path = f"{WORK}/{name}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def measure():
    spawn = build("spawn")
    measure_refreshes(spawn)
    measure_starts(spawn)


def sign_in(vault, answer, *options):
    tokenkeep(vault, "session", "begin", SERVICE, "ann", *options, text=json.dumps(answer))


def script(name, server, is_synced):
    """A script that renews the token of a file, and its arguments."""
    file = write(f"{name}.json", json.dumps(server.sign_in(OVERLAP)[1]), 0o600)
    sync, sync_folder = ('sync "$1.new"', 'sync "$(dirname "$1")"') if is_synced else ("", "")
    return write(name, REFRESH.format(sync=sync, sync_folder=sync_folder)), file, server.address


def git_helper(server):
    """A script that runs git-credential-oauth with a refresh token; None if it is not installed, or knows none."""
    helper = shutil.which("git-credential-oauth")
    if helper is None:
        return None
    token = server.sign_in(OVERLAP)[1]["refresh_token"]
    place = server.address.removeprefix("http://")
    write(".gitconfig", f'[credential "{server.address}"]\n\toauthClientId = app\n\toauthScopes = read\n'
          "\toauthAuthURL = /authorize\n\toauthTokenURL = /token\n", 0o600)
    asked = write("git-asks", f"protocol=http\nhost={place}\nusername=ann\noauth_refresh_token={token}\n\n", 0o600)
    command = write("git-helper", f'#!/bin/sh\nexec {helper} get <"{asked}"\n')
    environment = {"PATH": os.environ["PATH"], "HOME": WORK}
    try:
        answer = subprocess.run([command], env=environment, capture_output=True, text=True, timeout=10, check=False).stdout
    except subprocess.TimeoutExpired:
        return None
    return command if "password=" in answer else None


def measure_refreshes(spawn):
    if any(shutil.which(program) is None for program in ("curl", "jq")):
        print("\nRefreshes by scripts are not measured: needs curl and jq")
        return
    vault, fresh = f"{WORK}/refreshed", f"{WORK}/fresh"
    program = [f"{PREFIX}/bin/tokenkeep", "session", "token", SERVICE]
    # The access tokens are over at once: each call refreshes.
    with RotatingServer(0) as server:
        os.makedirs(f"{WORK}/tokenkeep/providers.d", exist_ok=True)
        write("tokenkeep/providers.d/bench.conf",
              f"token_endpoint = {server.address}/token\nclient_id = app\nrotation = none\n", 0o600)
        sign_in(vault, server.sign_in(OVERLAP)[1], "--provider", "bench")
        sign_in(fresh, {**server.sign_in(OVERLAP)[1], "expires_in": 3600})
        file = write("fresh.json", json.dumps(server.sign_in(OVERLAP)[1]), 0o600)
        columns = {
            "TokenKeep": (program, vault), "curl, jq, file, synced": (script("synced", server, True), None),
            "curl, jq, file, not synced": (script("plain", server, False), None),
        }
        helper = git_helper(server)
        if helper:
            columns["git-credential-oauth, keeps nothing"] = ([helper], None)
        columns["TokenKeep, fresh"] = (program, fresh)
        columns["jq and file, fresh"] = ([shutil.which("jq"), "-r", ".access_token", file], None)
        asked = server.refreshes
        figures = measured_in_turns([
            lambda command=command, vault=vault: run(
                spawn, ROUNDS, *command, XDG_CONFIG_HOME=WORK, **({"TOKENKEEP_VAULT": vault} if vault else {}))
            for command, vault in columns.values()])
        if server.refreshes == asked:
            raise RuntimeError("nothing was refreshed")
    rows = [[f"{figure['start', 1] / 1000:.1f}" for figure in figures]]
    table("A whole process that prints a token, medians in milliseconds; all but the last two refresh it at a server on this machine",
          list(columns), rows)
    if not helper:
        print("  git-credential-oauth is not measured: it is not installed, or knows no refresh tokens (Debian 12 has 0.4.2, which does not)")


def measure_starts(spawn):
    loads, linked = build("start-tokenkeep", "tokenkeep"), build("start-libcurl", "libcurl")
    own = {"TOKENKEEP_VAULT": f"{WORK}/refreshed"}
    tokenkeep(own["TOKENKEEP_VAULT"], "save", SERVICE, "account-0", text="token")
    programs = {
        "loads an item, libcurl installed": lambda: run(spawn, STARTS, loads, **own),
        "does nothing, linked to libcurl": lambda: run(spawn, STARTS, linked),
    }
    hide = write("hide", HIDE)
    if subprocess.run(["unshare", "-m", hide, "true"], capture_output=True, check=False).returncode == 0:
        programs["loads an item, libcurl absent"] = lambda: run("/usr/bin/unshare", "-m", hide, spawn, STARTS, loads, **own)
    figures = measured_in_turns(list(programs.values()))
    table("The start of the library: a whole process, medians in microseconds", list(programs),
          [[f"{figure['start', 1]:.0f}" for figure in figures]])
