"""The power fails at every moment of a refresh, a sign-in and a logout."""
import json
import os
import subprocess

from faults import PREFIX, WORK, case
from power import TRACE, Disk
from session_cases import copy, lines, server_of, signed_in


def losses(base, *arguments):
    """A vault after each moment of a call at which the power may fail, with the server as it was at this moment."""
    vault = copy(base)
    log = WORK + "/power.log"
    disk, server = Disk(vault.path), Disk(server_of(vault))
    server.seen = {path: file for path, file in server.seen.items() if os.path.dirname(path) == server.root}
    vault.run(*arguments, wrapper=(*TRACE, log))
    with open(log, encoding="latin-1") as trace:
        steps = trace.read().splitlines()
    for number, step in enumerate(steps):
        if vault.path in Disk.plain(step):
            has_changed = disk.apply(step)
        else:
            has_changed = server.apply(step)
        if not has_changed:
            continue
        for keeps_names in (False, True):
            disk.restore(keeps_names)
            for name in ("number", "requests"):
                path = f"{server_of(vault)}/{name}"
                with open(path, "wb") as file:
                    file.write(server.seen[path].content if path in server.seen else b"1\n" if name == "number" else b"")
            yield vault, f"step {number}, names {'kept' if keeps_names else 'lost'}: {Disk.plain(step)[:200]}"


def reason(vault):
    """Why the session is over."""
    shown = subprocess.run(
        [PREFIX + "/bin/tokenkeep", "session", "show", "api.fault.test", "ann", "--json", "--stack", "any required vault"],
        env=vault.environment, check=True, capture_output=True, text=True)
    return json.loads(shown.stdout)["reason"]


@case
def the_power_fails_during_a_refresh_under_strict_rotation():
    results = set()
    for vault, moment in losses(signed_in(), "token", "ann"):
        has_rotated = lines(vault, "number") == ["2"]
        result = vault.run("token", "ann")
        sent = lines(vault, "requests")
        if result == ["access-2", "OK"]:
            assert sent.count("refresh-1") <= (1 if has_rotated else 2), f"{moment}: sent {sent}"
        else:
            assert result == ["NEEDS_LOGIN"] and has_rotated, f"{moment}: {result}, sent {sent}"
            # That the token was sent was noted durably before.
            assert reason(vault) == "rotation-lost", moment
        results.add(result[-1])
    assert results == {"OK", "NEEDS_LOGIN"}, f"the losses only ever led to {results}"


@case
def the_power_fails_during_a_refresh_under_overlap():
    for vault, moment in losses(signed_in(FAULT_ROTATION="overlap"), "token", "ann"):
        result = vault.run("token", "ann")
        assert result[-1] == "OK" and result[0] in ("access-2", "access-3"), f"{moment}: {result}"


@case
def the_power_fails_after_a_refresh_was_acknowledged():
    results = [
        (vault.run("token", "ann"), lines(vault, "requests")) for vault, _ in losses(signed_in(), "token", "ann")]
    assert results[-2:] == [(["access-2", "OK"], ["refresh-1"])] * 2, results[-2:]


@case
def the_power_fails_during_a_logout():
    base = signed_in()
    assert base.run("token", "ann") == ["access-2", "OK"]
    results = []
    for vault, moment in losses(base, "logout", "ann"):
        results.append(vault.run("token", "ann")[-1])
        assert vault.run("logout", "ann") == ["OK"], moment
        assert vault.run("token", "ann") == ["NOT_FOUND"], moment
        is_queued = int(vault.run("count")[0]) >= 1
        assert lines(vault, "requests").count("refresh-2") >= 1 or is_queued, f"{moment}: the token is lost"
    assert "OK" in results and results[-2:] == ["NOT_FOUND"] * 2, results
