"""What a device tells of itself, and offers to the shell."""
import json
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from fleet_parts import HERE, PATIENCE, STACK, Relay, wait_until
from t_sign_out import three


def status(device):
    return json.loads(device.fleet("status", "--json").stdout)


def test_the_status_tells_lease_lag_and_what_is_unpublished(place, server):
    _, (desk, laptop, third), _ = three(place, server)
    shown = status(laptop)
    assert (shown["orders_here"], shown["lag"], shown["unpublished"]) == (0, 0, 0), shown
    assert 0 < shown["lease"] <= 900, shown
    assert "lag: none\n" in laptop.fleet("status").stdout
    desk.fleet("sign-out", "api.example.com", "ann", "--device", "laptop")
    laptop.sign_in(server, account="new")
    shown = status(laptop)
    assert (shown["orders_here"], shown["unpublished"]) == (1, 1), shown
    assert " s, 1 for this device\n" in laptop.fleet("status").stdout
    desk.fleet("sign-out", "api.example.com", "ann", "--everywhere")
    assert status(laptop)["orders_here"] == 2 and status(third)["orders_here"] == 2
    for device in (laptop, third):
        device.fleet("run", "--once")
        shown = status(device)
        assert (shown["orders_here"], shown["lag"], shown["unpublished"]) == (0, 0, 0), shown


def test_a_lease_that_is_not_known_is_told_from_none(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    shown = status(laptop)
    assert shown["lease_known"] and shown["lease"], shown

    def refuse(_, path, _is_answered):
        if path == "/v3/lease/timetolive":
            raise ConnectionResetError

    relay = Relay(etcd, refuse)
    laptop.use(relay.url)
    shown = status(laptop)
    assert not shown["lease_known"] and shown["lease"] is None, shown
    relay.close()
    new = place.device("new", server)
    new.join(desk)
    shown = status(new)
    assert shown["lease_known"] and shown["lease"] is None, shown


def test_looks_at_a_runner_keep_none_from_running(place, server):
    _, (desk, _, _), _ = three(place, server)
    over = threading.Event()

    def look():
        while not over.is_set():
            desk.fleet("status", "--json")

    with ThreadPoolExecutor(2) as pool:
        looking = [pool.submit(look) for _ in range(2)]
        try:
            for _ in range(15):
                desk.fleet("run", "--once")
        finally:
            over.set()
        for one in looking:
            one.result()


def test_the_status_counts_a_session_that_began_anew_once(place, server):
    etcd, (_, laptop, _), _ = three(place, server)
    laptop.sign_in(server)
    assert status(laptop)["unpublished"] == 1
    laptop.run("session", "logout", "api.example.com", "ann", "--local")
    laptop.run("session", "begin", "api.example.com", "ann", given=json.dumps(server.sign_in()[1]))
    laptop.fleet("run", "--once")
    assert status(laptop)["unpublished"] == 0

    def lose(_, path, _is_answered):
        if path == "/v3/lease/timetolive":
            raise ConnectionResetError

    relay = Relay(etcd, lose)
    laptop.use(relay.url)
    assert "lease: unknown\n" in laptop.fleet("status").stdout
    relay.close()


def test_names_are_completed_from_the_last_list(place, server):
    etcd, (desk, _, _), _ = three(place, server)
    response = json.dumps(server.sign_in()[1])
    subprocess.run(
        [desk.program, "session", "begin", *STACK, "--", "api.example.com", "--everywhere"], env=desk.environment,
        input=response, text=True, check=True)
    desk.sign_in(server, account="#ann")
    desk.fleet("run", "--once")
    assert len(desk.sessions()) == 5
    words = ["tokenkeep", "fleet", "list", *STACK, "api.example.com", ""]
    offered = subprocess.run(
        [desk.program, "---completion", "fleet", "list", "--", "positional@1", str(len(words) - 1), "0", *words],
        env=desk.environment | {"SAP_SHELL": "bash"}, capture_output=True, text=True, check=True).stdout
    assert offered.split() == ["ann"], offered
    etcd.kill()
    directory = f"{place.directory}/bin"
    os.makedirs(directory)
    with open(f"{directory}/tokenkeep", "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\ncase $1 in ---completion) exec "{desk.program}" "$@" ;; esac\nprintf "<<<%s>>>\\n" "$*"\n')
    os.chmod(f"{directory}/tokenkeep", 0o755)
    environment = desk.environment | {"PATH": f"{directory}:{os.environ['PATH']}"}
    os.makedirs(f"{desk.home}/config/tokenkeep/stack.d")
    with open(f"{desk.home}/config/tokenkeep/stack.d/default.conf", "w", encoding="utf-8") as file:
        file.write(f"{STACK[1]}\n")
    for shell in ("bash", "zsh", "fish"):
        if not shutil.which(shell):
            print(f"{shell} is not installed")
            continue
        script = f"{place.directory}/script.{shell}"
        with open(script, "w", encoding="utf-8") as file:
            subprocess.run(
                [desk.program, "--generate-completion-script", shell], env=environment, stdout=file, check=True)
        for typed, expected in (
                ("tokenkeep fleet list api.<TAB>an<TAB>", "fleet list api.example.com ann"),
                ("tokenkeep fleet sign-out api.<TAB>an<TAB>--device lap<TAB>",
                 "fleet sign-out api.example.com ann --device laptop"),
                ("tokenkeep fleet leave --fleet ho<TAB>--device ser<TAB>", "fleet leave --fleet home --device server")):
            done = subprocess.run(
                [sys.executable, f"{HERE}/../CLI/shells.py", shell, script, typed], env=environment, capture_output=True,
                text=True, timeout=PATIENCE, check=True)
            assert done.stdout.strip() == expected, (shell, typed, done.stdout)


def resident(pid):
    """In MiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1024


def test_a_runner_that_waits_keeps_little_in_memory(place, server):
    authority = place.authority()
    etcd = place.etcd(authority=authority)
    laptop = place.device("laptop", server)
    laptop.init(etcd)
    laptop.sign_in(server)
    laptop.start()
    wait_until(lambda: any(one["present"] for one in laptop.sessions().values()), "the presence")
    # The pages of its start alone are more.
    wait_until(lambda: resident(laptop.runner.pid) < 20, "the memory")
    laptop.sign_in(server, account="other")
    wait_until(lambda: len(laptop.sessions()) == 2, "the publication")
    wait_until(lambda: resident(laptop.runner.pid) < 20, "the memory after work")
