"""A process that is killed while it renews a token, signs in or signs out."""
import os
import shutil

from faults import Vault, case, fresh_copy, inject, kill_moments, system_calls


def server_of(vault):
    return vault.environment["FAULT_SERVER"]


def with_server(vault, **environment):
    """Gives a vault a server of its own, beside it."""
    vault.environment = {**vault.environment, **environment, "FAULT_SERVER": os.path.dirname(vault.path)}
    return vault


def copy(base):
    """A copy of the vault, with a copy of its server."""
    vault = with_server(fresh_copy(base))
    for name in ("number", "requests"):
        if os.path.exists(server_of(base) + "/" + name):
            shutil.copy(server_of(base) + "/" + name, server_of(vault))
    return vault


def lines(vault, name):
    path = server_of(vault) + "/" + name
    return open(path, encoding="utf-8").read().split() if os.path.exists(path) else []


def signed_in(**environment):
    base = with_server(Vault(), **environment)
    assert base.run("begin", "ann") == ["OK"]
    return base


@case
def killed_at_every_system_call_of_a_refresh_under_strict_rotation():
    base = signed_in()
    calls = kill_moments(copy(base), "token", "ann")
    seen = set()
    for call in calls:
        vault = copy(base)
        vault.run("token", "ann", wrapper=inject(call, "signal=KILL"))
        has_rotated = lines(vault, "number") == ["2"]
        result = vault.run("token", "ann")
        sent = lines(vault, "requests")
        assert sent.count("refresh-1") <= 2, f"a kill at {call}: sent {sent}"
        if result == ["access-2", "OK"]:
            assert sent.count("refresh-1") <= (1 if has_rotated else 2), f"a kill at {call}: sent {sent}"
        else:
            assert result == ["NEEDS_LOGIN"] and has_rotated, f"a kill at {call}: {result}, sent {sent}"
        seen.add(result[-1])
        assert vault.run("token", "ann") == result, f"a kill at {call}: another answer at the second call"
        assert lines(vault, "requests") == sent, f"a kill at {call}: another request at the second call"
        assert vault.run("begin", "ann") == ["OK"]
    assert seen == {"OK", "NEEDS_LOGIN"}, f"the kills at {len(calls)} calls only ever led to {seen}"


def no_kill_during_a_refresh_ends_the_session(rotation):
    """Returns: the refresh tokens that were sent."""
    base = signed_in(FAULT_ROTATION=rotation)
    used = set()
    for call in kill_moments(copy(base), "token", "ann"):
        vault = copy(base)
        vault.run("token", "ann", wrapper=inject(call, "signal=KILL"))
        result = vault.run("token", "ann")
        assert result[-1] == "OK" and result[0] in ("access-2", "access-3"), f"a kill at {call}: {result}"
        sent = lines(vault, "requests")
        assert vault.run("token", "ann") == result and lines(vault, "requests") == sent
        used.update(sent)
    return used


@case
def killed_at_every_system_call_of_a_refresh_under_overlap():
    no_kill_during_a_refresh_ends_the_session("overlap")


@case
def killed_at_every_system_call_of_a_refresh_from_a_server_that_keeps_its_tokens():
    assert no_kill_during_a_refresh_ends_the_session("none") == {"refresh-1"}


@case
def killed_at_every_system_call_of_a_sign_in_over_a_session():
    base = signed_in()
    assert base.run("token", "ann") == ["access-2", "OK"]
    for call in kill_moments(copy(base), "begin", "ann"):
        vault = copy(base)
        vault.run("begin", "ann", wrapper=inject(call, "signal=KILL"))
        result = vault.run("token", "ann")
        # The old session, or the new one, whose refresh token this server does not know.
        assert result in (["access-2", "OK"], ["NEEDS_LOGIN"]), f"a kill at {call}: {result}"


@case
def killed_at_every_system_call_while_the_refresh_token_is_an_item_of_its_own():
    base = signed_in(FAULT_APART="yes")
    # A sign-in over the session: the server has not asked for a token, so that each refresh token in it is good.
    for call in kill_moments(copy(base), "begin", "ann"):
        vault = copy(base)
        vault.run("begin", "ann", wrapper=inject(call, "signal=KILL"))
        result = vault.run("token", "ann")
        assert result == ["access-2", "OK"], f"a kill of a sign-in at {call}: {result}"
    for call in kill_moments(copy(base), "token", "ann"):
        vault = copy(base)
        vault.run("token", "ann", wrapper=inject(call, "signal=KILL"))
        has_rotated = lines(vault, "number") == ["2"]
        result = vault.run("token", "ann")
        # If the new refresh token was saved and the new record was not, the next call renews once more.
        assert result in (["access-2", "OK"], ["access-3", "OK"]) or (has_rotated and result == ["NEEDS_LOGIN"]), (
            f"a kill of a refresh at {call}: {result}")
        assert lines(vault, "requests").count("refresh-2") <= 1
    for call in kill_moments(with_server(Vault(), FAULT_APART="yes"), "begin", "ann"):
        vault = with_server(Vault(), FAULT_APART="yes")
        vault.run("begin", "ann", wrapper=inject(call, "signal=KILL"))
        result = vault.run("token", "ann")
        assert result in (["access-2", "OK"], ["NOT_FOUND"]), f"a kill of the first sign-in at {call}: {result}"
        if result == ["NOT_FOUND"]:
            assert vault.run("count") == ["0", "OK"], f"a kill at {call} leaves an item: {vault.run('count')}"


@case
def killed_at_every_system_call_of_a_logout():
    base = signed_in()
    assert base.run("token", "ann") == ["access-2", "OK"]
    seen = set()
    for call in kill_moments(copy(base), "logout", "ann"):
        vault = copy(base)
        vault.run("logout", "ann", wrapper=inject(call, "signal=KILL"))
        seen.add(vault.run("token", "ann")[-1])
        assert vault.run("logout", "ann") == ["OK"], f"no logout after a kill at {call}"
        assert vault.run("token", "ann") == ["NOT_FOUND"], f"a session after a kill at {call} and a logout"
        # Revoked, or still in the outbox: a call in between has queued the token, and sends nothing.
        is_queued = int(vault.run("count")[0]) >= 1
        assert lines(vault, "requests").count("refresh-2") >= 1 or is_queued, f"a kill at {call}: the token is lost"
    assert seen == {"OK", "NOT_FOUND"}, f"the kills only ever led to {seen}"


@case
def a_disk_that_refuses_writes_loses_no_session():
    base = signed_in()
    names = {"write", "fdatasync", "fsync", "rename", "renameat", "openat", "pwrite64"}
    for call in [call for call in system_calls(copy(base), "token", "ann") if call[0] in names]:
        vault = copy(base)
        first = vault.run("token", "ann", wrapper=inject(call, "error=ENOSPC"))
        result = vault.run("token", "ann")
        has_rotated = lines(vault, "number") == ["2"]
        assert result == ["access-2", "OK"] or (has_rotated and result == ["NEEDS_LOGIN"]), (
            f"ENOSPC at {call}: {first}, then {result}")
