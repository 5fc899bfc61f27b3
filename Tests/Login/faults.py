"""The module with programs in place of tokenkeep that fail in every way."""

import os, pathlib, signal, subprocess

from world import LONGEST, PASSWORD, case, check, run, wait_until

CALLS = ["auth", "session", "close", "passwd"]


def signs_in_as_without(world, words, told=None, verb="", passes=False, **more):
    """Signs in with these options of the module; the result must be that of the stack without it. `passes`: the module's limits
    are passed."""
    expected, _ = world.sign_in(world.baseline, CALLS, new=PASSWORD, **more)
    lines, children = world.sign_in(world.service(words), CALLS, new=PASSWORD, passes=passes, **more)
    messages = [line for line in lines if line.startswith("message ")]
    check([line for line in lines if line not in messages] == expected, f"{lines}, not {expected}")
    if told is not None:
        check(len(messages) == told and all(f"the vault {verb}" in line for line in messages), f"{messages}")
    check(children == "children 0 signals 0", children)


@case
def a_program_that_is_absent_or_not_executable(world):
    signs_in_as_without(world, "helper=/nonexistent/tokenkeep", told=0)
    signs_in_as_without(world, f"helper={world.base}", told=0)
    signs_in_as_without(world, f"helper={world.fake_program('no program', 0o644)}", told=0)
    signs_in_as_without(world, f"helper={world.fake_program('no program', 0o755)}", told=0)


@case
def each_exit_code(world):
    for code in (0, 1, 2, 3, 4, 5, 6, 7, 70, 126, 127, 254, 255):
        program = world.fake_program(f"#!/bin/sh\nexit {code}\n")
        signs_in_as_without(world, f"helper={program}", told=int(code in (4, 5, 6, 7, 255)))


@case
def a_program_that_prints_a_megabyte(world):
    program = world.fake_program("#!/bin/sh\nhead -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2\nexit 0\n")
    signs_in_as_without(world, f"helper={program}", told=0)


@case
def a_program_that_reads_nothing(world):
    signs_in_as_without(world, f"helper={world.fake_program('#!/bin/sh' + chr(10) + 'exec 0<&-; exit 0' + chr(10))}")


@case
def a_program_that_hangs_is_stopped_or_leaves_children(world):
    for script in ("sleep 1000", "trap '' TERM HUP INT; while :; do sleep 1000; done", "kill -STOP $$",
                   "sleep 1000 & sleep 1000", "setsid sleep 0.1; sleep 1000"):
        program = world.fake_program(f"#!/bin/sh\n{script}\n")
        signs_in_as_without(world, f"helper={program} timeout=1", told=1, verb="may keep its", passes=True)


@case
def a_program_that_hangs_becomes_no_child_of_a_host_that_adopts_orphans(world):
    program = world.fake_program("#!/bin/sh\nexec sleep 1000\n")
    # The module's limit passes, and not the time after it, in which the program is killed and reaped.
    _, children = world.sign_in(
        world.service(f"helper={program} timeout=1"), ["auth"], options=["--subreaper"], passes=True, count=1)
    check(children == "children 0 signals 0", children)


@case
def a_program_that_is_killed(world):
    for number in ("KILL", "SEGV", "TERM"):
        signs_in_as_without(world, f"helper={world.fake_program(f'#!/bin/sh{chr(10)}kill -{number} $${chr(10)}')}", told=1,
                            verb="may keep its")


@case
def a_host_that_is_killed_leaves_nothing_running(world):
    ready = world.base / "ready"
    program = world.fake_program(f"#!/bin/sh\necho $PPID > {ready}\nsleep 1000\n")
    ready.touch()
    os.chown(ready, world.uid, world.gid)
    service = world.service(f"helper={program} timeout={LONGEST}")
    words = [str(world.host), service, world.user, PASSWORD.encode().hex(), "--", "auth"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as host:
        supervisor = int(wait_until(lambda: ready.read_text().strip(), "the program"))
        host.send_signal(signal.SIGKILL)
    # The supervisor ends by its own alarm, which is not waited for.
    os.kill(supervisor, signal.SIGALRM)
    world.check_nothing_runs()


@case
def the_programs_surroundings(world):
    seen = world.base / "seen"
    seen.touch()
    os.chown(seen, world.uid, world.gid)
    program = world.fake_program(
        "#!/usr/bin/python3 -I\nimport os, resource, sys\n"
        f"out = open('{seen}', 'a')\nfds = sorted(os.listdir('/proc/self/fd'), key=int)\n"
        "print(sys.argv[1:], dict(os.environ), os.getresuid(), os.getresgid(), sorted(os.getgroups()), fds,\n"
        "      os.getpgrp() != os.getpgid(int(os.environ.get('NONE', os.getppid()))) or os.getpgrp() == os.getppid(),\n"
        "      os.readlink('/proc/self/fd/1'), os.getcwd(), file=out)\nsys.stdin.buffer.read()\n")
    world.sign_in(world.service(f"helper={program}"), ["auth"], options=["--descriptors"])
    text = seen.read_text()
    service = world.services[-1]
    check(f"['login', 'unlock', '--service', '{service}']" in text, text)
    for part in (f"'HOME': '{world.home}'", f"'USER': '{world.user}'", f"'LOGNAME': '{world.user}'",
                 "'PATH': '/usr/bin:/bin'", f"({world.uid}, {world.uid}, {world.uid})",
                 f"({world.gid}, {world.gid}, {world.gid})", f"[{world.gid}]", "['0', '1', '2', '3', '4']",
                 "True /dev/null /"):
        check(part in text, f"{part} is not in {text}")


@case
def options_that_are_unknown_or_malformed_are_passed_over(world):
    world.make_vault()
    service = world.service("nonsense timeout=0 timeout=31 timeout=5x helper=relative only_if= debug")
    world.sign_in(service, ["auth"])
    check(world.load() == "secret", "the options keep the vault locked")


@case
def no_process_may_be_started(world):
    world.make_vault()
    words = ["prlimit", "--nproc=0", str(world.host), world.service(""), world.user, PASSWORD.encode().hex(), "--",
             "auth", "session"]
    ran = run(*words)
    check(ran.stdout.decode().splitlines()[:2] == ["auth 0", "session 0"], f"{ran}")


@case
def no_memory_is_there_for_a_fork(world):
    world.make_vault()
    for option in ("--no-first-fork", "--no-second-fork"):
        signs_in_as_without(world, "", told=0, options=[option])
        check(world.load() == 3, f"{option}: the module's process ran")


@case
def dev_null_is_absent(world):
    world.make_vault()
    command = f"mount -t tmpfs none /dev && exec {world.host} {world.service('')} {world.user} " \
              f"{PASSWORD.encode().hex()} -- auth session"
    ran = run("unshare", "-m", "sh", "-c", command)
    check(ran.stdout.decode().splitlines()[:2] == ["auth 0", "session 0"], f"{ran}")


@case
def the_hosts_file_is_not_written_when_descriptors_run_out(world):
    world.make_vault()
    file = world.base / "descriptor-3"
    # The module's process needs descriptors from 10 on.
    words = ["sh", "-c", f"ulimit -n 10 && exec \"$@\" 3> '{file}'", "sh", str(world.host), world.service(""),
             world.user, PASSWORD.encode().hex(), "--", "auth", "session"]
    ran = run(*words)
    check(ran.stdout.decode().splitlines()[:2] == ["auth 0", "session 0"], f"{ran}")
    check(world.load() == 3, "the module's process ran")
    check(file.read_bytes() == b"", f"{file.read_bytes()}")
