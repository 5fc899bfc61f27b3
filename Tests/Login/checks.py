"""The module as it should work, and with a vault in every state."""

import fcntl, os, pwd, re, shutil, socket

from world import AUTH_ERROR, HERE, PASSWORD, SUCCESS, case, check, run

OK = lambda *calls: [f"{call} {SUCCESS}" for call in calls]


@case
def the_library_exports_pam_functions_alone(world):
    names = run("nm", "-D", "--defined-only", world.module).stdout.decode().split()[2::3]
    check(names and all(name.startswith("pam_sm_") for name in names) and len(names) == 6, f"exports {names}")
    needed = [line.split("[")[1].strip("]") for line in run("readelf", "-d", world.module).stdout.decode().splitlines()
              if "NEEDED" in line]
    check(sorted(name.split(".so")[0] for name in needed) == ["libc", "libpam"], f"needs {needed}")


@case
def loading_it_1000_times_leaves_nothing(world):
    program = world.compile("reload.c", "-ldl")
    ran = run(program, world.module)
    check(ran.returncode == 0, ran.stdout.decode() + ran.stderr.decode())


@case
def a_login_opens_the_vault_and_its_session_keeps_it_open(world):
    world.make_vault()
    check(world.load() == 3, "the vault is not locked")
    service = world.service("")
    lines, _ = world.sign_in(service, ["auth", "account", "setcred"])
    check(lines == OK("auth", "account", "setcred"), f"{lines}")
    check(world.load() == "secret", "locked after the authentication")
    check(all(time != "perm" for time in world.key_times().values()), f"keys stay: {world.key_times()}")
    lines, _ = world.sign_in(service, ["session", "close"])
    check(lines == OK("session", "close"), f"{lines}")
    check(world.key_times().get(2) == "perm", f"keys end: {world.key_times()}")
    check(world.note() == "unlocked", world.note())


@case
def a_vault_without_a_password_gets_the_logins_at_the_first_session_if_the_module_has_create(world):
    world.make_vault(None)
    world.sign_in(world.service(""), ["auth", "session"])
    has_password = lambda: world.tokenkeep("lock").returncode == 0
    check(not has_password(), "a vault got a password without the option")
    service = world.service("create")
    world.sign_in(service, ["auth"])
    check(not has_password(), "a vault got a password before the session")
    lines, _ = world.sign_in(service, ["auth", "session"])
    check(lines == OK("auth", "session"), f"{lines}")
    check(world.note() == "unlocked" and world.load() == "secret", world.note())
    world.lock()
    check(world.load() == 3 and world.opens_with(PASSWORD), "the vault has not the login's password")


@case
def a_second_authentication_does_not_shorten_keys_that_stay(world):
    world.make_vault()
    service = world.service("")
    world.sign_in(service, ["auth", "session"])
    world.sign_in(service, ["auth"])
    check(world.key_times().get(2) == "perm", f"{world.key_times()}")


@case
def an_authentication_in_a_session_keeps_the_keys(world):
    world.make_vault()
    world.purge()
    world.begin_session()
    world.sign_in(world.service(""), ["auth"])
    check(world.key_times().get(2) == "perm", f"{world.key_times()}")


@case
def an_unlock_that_finds_all_open_derives_nothing(world):
    world.make_vault()
    world.purge()
    world.begin_session()
    service = world.service("")
    world.sign_in(service, ["auth"])
    # Were the password tried, the note would say that it is wrong.
    world.set_login_password("another")
    world.sign_in(service, ["auth"], "another")
    check(world.note() == "unlocked", world.note())
    # A service that is no login opens nothing that the user locked: here nobody did.
    world.purge()
    world.sign_in(service, ["auth"], "another")
    check(world.note() == "wrong-password", world.note())


@case
def a_wrong_login_password_is_not_tried_and_the_right_one_works_then(world):
    world.make_vault()
    service = world.service("", before="auth requisite pam_unix.so nullok\n")
    lines, _ = world.sign_in(service, ["auth"], "mistyped")
    check(lines == [f"auth {AUTH_ERROR}"], f"{lines}")
    check(world.note() is None and world.load() == 3, "the wrong password reached the vault")
    world.sign_in(service, ["auth", "session"])
    check(world.load() == "secret", "locked")


@case
def a_substack_does_not_hide_the_module(world):
    """Fedora's services: a sufficient line ends the substack alone."""
    world.make_vault()
    inner = world.service_of("auth sufficient pam_unix.so\nauth required pam_deny.so\n")
    service = world.service_of(f"auth substack {inner}\nauth optional {world.module}\n"
                               f"session required pam_permit.so\nsession optional {world.module}\n")
    lines, _ = world.sign_in(service, ["auth"], "mistyped")
    check(lines == [f"auth {AUTH_ERROR}"] and world.load() == 3, f"{lines}")
    lines, _ = world.sign_in(service, ["auth", "session"])
    check(lines == OK("auth", "session") and world.load() == "secret", f"{lines}")


@case
def authentication_and_session_may_be_in_two_processes(world):
    world.make_vault()
    lines, _ = world.sign_in(world.service(""), ["auth", "fork", "session", "close"])
    check(lines == OK("auth", "session", "close"), f"{lines}")
    check(world.key_times().get(2) == "perm", f"{world.key_times()}")


@case
def a_home_that_comes_with_the_session_is_unlocked_then(world):
    world.make_vault()
    away = world.base / "away"
    world.home.rename(away)
    script = world.fake_program(f"#!/bin/sh\n[ -d {away} ] && mv {away} {world.home}\nexit 0\n")
    service = world.service("", before=f"session required pam_exec.so {script}\n")
    try:
        lines, _ = world.sign_in(service, ["auth", "session"])
        check(lines == OK("auth", "session"), f"{lines}")
        check(world.load() == "secret" and world.key_times().get(2) == "perm", "locked in the session")
    finally:
        if away.exists():
            away.rename(world.home)


@case
def a_session_without_a_password_is_noted(world):
    world.make_vault()
    lines, _ = world.sign_in(world.service(""), ["session"])
    check(lines == OK("session") and world.note() == "no-password", f"{lines} {world.note()}")
    text = world.tokenkeep("login", "status").stdout.decode()
    check("vault: locked" in text and "hint: " in text and "tokenkeep unlock" in text, text)


@case
def a_service_whose_session_line_alone_runs_the_module_is_named(world):
    world.make_vault()
    service = world.service_of(
        "auth required pam_unix.so nullok\naccount required pam_permit.so\nsession required pam_permit.so\n"
        f"session optional {world.module}\n"
    )
    lines, _ = world.sign_in(service, ["auth", "session"])
    check(lines == OK("auth", "session"), f"{lines}")
    text = world.tokenkeep("login", "status").stdout.decode()
    check(f"its PAM service has no auth line of pam_tokenkeep.so, which got no password ({service}," in text, text)
    check(f"add the auth line of docs/login.md to /etc/pam.d/{service}" in text, text)


@case
def the_vault_follows_a_change_of_the_password(world):
    world.make_vault()
    service = world.service("")
    host = world.base / "setuid-host"
    shutil.copy(world.host, host)
    host.chmod(0o4755)
    lines, _ = world.sign_in(service, ["passwd"], new="a wholly other 1", host=host, as_user=True)
    world.login_password = None
    check(lines[-1] == f"passwd {SUCCESS}" and not any("TokenKeep" in line for line in lines), f"{lines}")
    check(world.note() == "unlocked", world.note())
    check(world.opens_with("a wholly other 1") and not world.opens_with(PASSWORD), "the vault did not follow")
    world.sign_in(service, ["auth", "session"], "a wholly other 1")
    check(world.load() == "secret", "locked after the next login")


@case
def a_change_before_a_session_makes_no_key_stay(world):
    world.make_vault()
    service = world.service("")
    host = world.base / "setuid-host"
    shutil.copy(world.host, host)
    host.chmod(0o4755)
    world.sign_in(service, ["auth"])
    world.sign_in(service, ["passwd"], new="a wholly other 1", host=host, as_user=True)
    world.login_password = None
    times = world.key_times()
    check("perm" not in times.values(), f"{times}")
    check(world.opens_with("a wholly other 1"), "the vault did not follow")


@case
def a_change_by_root_is_told_noted_and_mended(world):
    world.make_vault()
    service = world.service("")
    world.sign_in(service, ["auth", "session"])
    lines, _ = world.sign_in(service, ["passwd"], new="set by root 1")
    world.login_password = None
    check(lines[-1] == f"passwd {SUCCESS}" and "vault keeps" in lines[-2], f"{lines}")
    check(world.note() == "not-followed", world.note())
    world.lock()
    world.sign_in(service, ["auth", "session"], "set by root 1")
    check(world.note() == "not-followed", world.note())
    for words in (["status"], ["login", "status"]):
        text = world.tokenkeep(*words).stdout.decode()
        check("tokenkeep password change" in text, text)
    changed = world.tokenkeep("password", "change", "--stdin", input=f"{PASSWORD}\nset by root 1\n".encode())
    check(changed.returncode == 0 and world.note() is None, f"{changed} {world.note()}")
    world.lock()
    world.sign_in(service, ["auth", "session"], "set by root 1")
    check(world.note() == "unlocked" and world.load() == "secret", "not mended")


@case
def a_vault_that_never_was_the_logins_is_left_alone(world):
    world.make_vault("the vault's own")
    service = world.service("")
    lines, _ = world.sign_in(service, ["passwd"], new="another 1")
    world.login_password = None
    check(lines == OK("passwd") and world.note() is None, f"{lines} {world.note()}")
    check(world.opens_with("the vault's own"), "the vault's password was changed")
    for name in ("header", "header.2"):
        (world.vault / "current" / name).write_bytes(b"damaged")
    lines, _ = world.sign_in(service, ["passwd"], new="another 2")
    check(lines == OK("passwd"), f"{lines}")


@case
def nothing_is_said_about_a_home_that_is_away(world):
    away = world.base / "away"
    service = world.service("")
    world.home.rename(away)
    try:
        lines, _ = world.sign_in(service, ["passwd"], new="another 1")
    finally:
        away.rename(world.home)
        world.login_password = None
    check(lines == OK("passwd"), f"{lines}")


@case
def a_busy_vault_is_noted_when_it_cannot_follow(world):
    world.make_vault()
    service = world.service("")
    world.sign_in(service, ["auth", "session"])
    host = world.base / "setuid-host"
    shutil.copy(world.host, host)
    host.chmod(0o4755)
    with open(world.vault / "lock", "r+b") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        lines, _ = world.sign_in(service, ["passwd"], new="a wholly other 1", host=host, as_user=True)
    world.login_password = None
    check(lines[-1] == f"passwd {SUCCESS}" and "vault keeps" in lines[-2], f"{lines}")
    check(world.note() == "not-followed" and world.opens_with(PASSWORD), world.note())


@case
def passwords_of_every_kind_open_the_vault(world):
    for password in (b"x", b"p" * 500, b"\xff\xfe\x80 no UTF-8", b"two\nlines", b"tab\tand\x7f"):
        world.make_vault(None)
        world.set_vault_password_raw(password)
        lines, _ = world.sign_in(world.service_that_permits(), ["auth", "session"], password)
        check(lines == OK("auth", "session"), f"{password!r}: {lines}")
        check(world.load() == "secret", f"{password!r} does not open the vault: {world.note()}")


@case
def passwords_beyond_every_limit_change_no_result(world):
    world.make_vault()
    for password in (b"", b"p" * 4096, b"p" * 4097, b"p" * 60_000):
        lines, _ = world.sign_in(world.service_that_permits(), ["auth", "session", "passwd"], password)
        check(lines == OK("auth", "session", "passwd"), f"{len(password)} bytes: {lines}")
        check(world.load() == 3, "unlocked")


@case
def a_password_of_4096_bytes_opens_its_vault(world):
    world.make_vault(None)
    world.set_vault_password_raw(b"q" * 4096)
    world.sign_in(world.service_that_permits(), ["auth", "session"], b"q" * 4096)
    check(world.load() == "secret", f"locked: {world.note()}")


def states(world):
    """Prepares each state of the vault: pairs of a name and a function that makes it from a vault with the password."""
    def files():
        era = os.path.realpath(world.vault / "current")
        record = os.path.join(era, "records", os.listdir(os.path.join(era, "records"))[0])
        return [world.vault / "current", world.vault / "lock", f"{era}/header", f"{era}/header.2", f"{era}/keyfile",
                record, world.vault / "login"]

    def fifo(path):
        def make():
            if os.path.lexists(path):
                os.unlink(path)
            os.mkfifo(path, 0o600)
            os.chown(path, world.uid, world.gid)
        return make

    def damage():
        for name in ("header", "header.2"):
            with open(f"{os.path.realpath(world.vault / 'current')}/{name}", "r+b") as file:
                file.seek(100)
                file.write(b"\xff" * 40)

    yield "absent", world.remove_vault
    yield "no password", lambda: world.make_vault(None)
    yield "same", lambda: None
    yield "other", lambda: world.make_vault("other")
    yield "damaged", damage
    yield "of another owner", lambda: [os.chown(world.vault, 0, 0), world.vault.chmod(0o700)]
    world.make_vault()
    for path in files():
        yield f"FIFO for {os.path.basename(path)}", fifo(path)


@case
def no_state_of_the_vault_changes_a_result(world):
    service, calls = world.service(""), ["auth", "session", "close", "passwd"]
    expected, _ = world.sign_in(world.baseline, calls, new=PASSWORD)
    for name, make in list(states(world)):
        world.make_vault()
        make()
        lines, _ = world.sign_in(service, calls, new=PASSWORD)
        told = [line for line in lines if line.startswith("message ")]
        check([line for line in lines if line not in told] == expected, f"{name}: {lines}, not {expected}")
        check(all("TokenKeep" in line for line in told) and len(told) <= 1, f"{name}: {told}")


@case
def hosts_of_every_kind_get_the_same(world):
    service, calls = world.service(""), ["auth", "session", "close"]
    for options in (["--ignore-sigchld"], ["--reaper"], ["--descriptors"], ["--threads"], ["--small-stack"],
                    ["--reaper", "--threads", "--descriptors", "--small-stack"]):
        world.make_vault()
        lines, children = world.sign_in(service, calls, options=options)
        check(lines == OK(*calls), f"{options}: {lines}")
        check(world.load() == "secret", f"{options}: locked")
        check(children == "children 0 signals 0", f"{options}: {children}")


@case
def a_program_of_the_user_unlocks_as_a_locker_does(world):
    world.make_vault()
    world.purge()
    world.begin_session()
    lines, _ = world.sign_in(world.service_that_permits(), ["auth"], as_user=True)
    check(lines == OK("auth"), f"{lines}")
    check(world.load() == "secret", f"locked: {world.note()}")


@case
def a_program_of_another_user_does_nothing(world):
    world.make_vault()
    words = [world.host, world.service_that_permits(), world.user, PASSWORD.encode().hex(), "--", "auth", "session"]
    ran = run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *words)
    check(ran.stdout.decode().splitlines()[:2] == OK("auth", "session"), f"{ran}")
    check(world.load() == 3, "another user's program unlocked the vault")


@case
def only_if_names_the_services(world):
    world.make_vault()
    world.sign_in(world.service("only_if=login,gdm-password"), ["auth", "session"])
    check(world.load() == 3, "unlocked by a service that is not named")
    name = f"{world.services[-1].rsplit('-', 1)[0]}-{len(world.services)}"
    world.sign_in(world.service(f"only_if=login,{name},sshd"), ["auth", "session"])
    check(world.load() == "secret", "locked for a service that is named")


@case
def the_program_is_found_beside_a_link_to_the_module(world):
    world.make_vault()
    link = world.base / "security-link.so"
    link.symlink_to(world.module)
    module, world.module = world.module, link
    try:
        service = world.service("")
    finally:
        world.module = module
    world.sign_in(service, ["auth"])
    check(world.load() == "secret", "locked")


@case
def a_module_in_a_directory_outside_the_prefix_runs_the_installed_program(world):
    build, source = world.base / "build", HERE.parent.parent
    configure = ["cmake", "-S", source, "-B", build, "-DCMAKE_INSTALL_PREFIX=/opt/tokenkeep", "-DTOKENKEEP_PAM=ON"]
    for words in ([*configure, "-DTOKENKEEP_PAM_DIRECTORY=/lib/security"], ["cmake", "--build", build, "--target", "pam_tokenkeep"]):
        made = run(*words)
        check(made.returncode == 0, made.stderr.decode())
    check(b"\0/opt/tokenkeep/bin/tokenkeep\0" in (build / "security/pam_tokenkeep.so").read_bytes(), "another program")
    script = (build / "cmake_install.cmake").read_text()
    check('file(INSTALL DESTINATION "/lib/security"' in script, "another directory")
    check('set(pam_module "/lib/security/pam_tokenkeep.so")' in script, "another module in the profile's lines")


@case
def the_helper_prints_nothing_and_makes_no_vault(world):
    world.remove_vault()
    for words, code in ((["unlock"], 1), (["confirm"], 1), (["password"], 4)):
        ran = world.tokenkeep("login", *words, "--service", "test", input=b"x")
        check((ran.returncode, ran.stdout, ran.stderr) == (code, b"", b""), f"{words}: {ran}")
    check(not world.vault.exists(), "a vault was made")
    text = world.tokenkeep("login", "--help").stdout.decode()
    check("status" in text and "confirm" not in text and "unlock  " not in text, text)


@case
def the_end_of_a_session_purges_the_keys(world):
    world.make_vault()
    world.sign_in(world.service(""), ["auth", "session"])
    check(world.key_times(), "no key is there")
    shutil.move(world.home, world.base / "gone")
    try:
        purged = run(world.stage / "libexec/tokenkeep/tokenkeep-purge", world.uid)
        check(purged.returncode == 0, purged.stderr.decode())
        check(not world.key_times(), f"{world.key_times()}")
    finally:
        shutil.move(world.base / "gone", world.home)


@case
def the_purge_runs_with_the_users_group(world):
    script = (world.stage / "libexec/tokenkeep/tokenkeep-purge").read_text()
    printing = world.fake_program("#!/bin/sh\nid -g\n")
    purge = world.fake_program(re.sub("^program=.*", f"program={printing}", script, flags=re.M))
    other = next(entry for entry in pwd.getpwall() if entry.pw_uid not in (0, entry.pw_gid))
    for uid, group in ((other.pw_uid, other.pw_gid), (3_999_999_999, 65534)):
        purged = run(purge, uid)
        check(purged.stdout.decode().strip() == str(group), f"{uid}: {purged}")


@case
def only_what_somebody_can_mend_is_logged(world):
    place = world.base / "log"
    command = (f"mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/urandom c 1 9 && "
               f"ln -s {place} /dev/log && exec \"$@\"")

    def logged(service, password, *calls):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
            log.bind(str(place))
            place.chmod(0o666)
            run("unshare", "-m", "sh", "-c", command, "sh", world.host, service, world.user,
                password.encode().hex(), "--", *calls)
            log.setblocking(False)
            lines = []
            try:
                while True:
                    lines.append(log.recv(4096).decode())
            except BlockingIOError:
                place.unlink()
            return [line for line in lines if "pam_tokenkeep" in line]

    service, program = world.service(""), world.service("helper=/nonexistent/tokenkeep")
    for name, make in (("no vault", lambda: None), ("no password", lambda: world.make_vault(None)),
                       ("locked", world.make_vault), ("open", lambda: None)):
        make()
        lines = logged(service, PASSWORD, "auth", "session", "close")
        check(not lines, f"{name}: {lines}")
    world.make_vault("another")
    lines = logged(service, PASSWORD, "auth", "session")
    check(len(lines) == 1 and "tokenkeep login status" in lines[0], f"{lines}")
    # Facility 10 is authpriv.
    check(lines[0].startswith(f"<{10 * 8 + 5}>") and PASSWORD not in lines[0], f"{lines}")
    lines = logged(program, PASSWORD, "auth")
    check(len(lines) == 1 and "helper=" in lines[0], f"{lines}")
