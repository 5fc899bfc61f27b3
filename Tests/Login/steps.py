"""The real program, killed at each of its steps."""

import os, re, shutil

from world import PASSWORD, Skipped, case, check

# The calls by which a login changes keys and files.
STEPS = ("add_key", "keyctl", "rename", "renameat", "renameat2", "unlinkat", "fsync")


def steps_of(world, command):
    """Each of those calls that `tokenkeep login COMMAND` makes, with its number."""
    trace = world.base / "trace"
    trace.touch()
    os.chown(trace, world.uid, world.gid)
    ran = world.as_user("strace", "-f", "-qq", "-o", trace, "-e", f"trace={','.join(STEPS)}", world.program, "login", command,
                        "--service", "test", input=PASSWORD.encode())
    check(ran.returncode == 0, f"{ran}")
    names = re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE)
    return [(name, number) for name in STEPS for number in range(1, names.count(name) + 1)]


@case
def a_program_that_is_killed_at_each_step_leaves_a_vault_that_the_next_login_opens(world):
    if shutil.which("strace") is None:
        raise Skipped("strace is not installed")
    world.make_vault()
    killed = world.base / "killed"
    service, plain, calls = world.service(f"helper={killed}"), world.service(""), ["auth", "session", "close"]
    unfinished = 0
    for command, name, number in [(command, *step) for command in ("unlock", "confirm") for step in steps_of(world, command)]:
        killed.write_text(f"#!/bin/sh\n[ \"$2\" = {command} ] || exec {world.program} \"$@\"\nexec strace -f -qq -o /dev/null "
                          f"-e inject={name}:signal=KILL:when={number} {world.program} \"$@\"\n")
        killed.chmod(0o755)
        world.lock()
        when = f"killed at {name} {number} of {command}"
        lines, children = world.sign_in(service, calls)
        check(lines == [f"{call} 0" for call in calls] and children == "children 0 signals 0", f"{when}: {lines} {children}")
        unfinished += world.key_times().get(2) != "perm"
        world.sign_in(plain, calls)
        check(world.load() == "secret" and world.key_times().get(2) == "perm", f"{when}: {world.note()} {world.key_times()}")
    check(unfinished > 3, f"{unfinished} kills had an effect")
