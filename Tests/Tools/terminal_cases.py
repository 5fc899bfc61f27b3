"""Questions: on a terminal only, and only if the caller wants them."""
import os
import pty

from world import cases, has, same

GIT = "protocol=https\nhost=example.com\n"


def on_terminal(world, script, answer):
    """Runs a script of the shell whose terminal answers the first question. Returns exit code and what the terminal showed."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(world.folder)
        os.execvpe("sh", ["sh", "-c", script], world.environment)
    shown = ""
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        if not data:
            break
        is_asked = shown.endswith((": ", "[y/N] "))
        shown += data.decode(errors="replace")
        if answer and not is_asked and shown.endswith((": ", "[y/N] ")):
            os.write(terminal, answer.encode())
            answer = ""
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown


def locked(world):
    world.run("git-credential-tokenkeep", "store", input=GIT + "username=ann\npassword=p\n")
    world.lock()
    world.write("request", GIT)


def the_password_is_asked_for_if_the_caller_wants_it(world):
    locked(world)
    code, shown = on_terminal(world, "git-credential-tokenkeep --interactive get <request >out", "the vault's password\n")
    same((code, world.read("out")), (0, "username=ann\npassword=p\n"))
    has(shown, "password of the vault, for git:https://example.com")
    assert "the vault's password" not in shown


def nothing_is_asked_without_the_option(world):
    locked(world)
    code, shown = on_terminal(world, "git-credential-tokenkeep get <request", "")
    same(code, 3)
    has(shown, "locked")
    assert "password of the vault, for" not in shown


def nothing_is_asked_without_a_terminal(world):
    locked(world)
    told = world.run("setsid", "-w", "git-credential-tokenkeep", "--interactive", "get", input=GIT, code=None)
    assert told.returncode in (3, 5), told.err
    has(told.err, "there is no terminal on which to ask")


def maintenance_asks_nothing_on_a_terminal(world):
    locked(world)
    script = """GIT_CONFIG_PARAMETERS="'credential.interactive'='false'" git-credential-tokenkeep --interactive get <request"""
    same(on_terminal(world, script, ""), (0, ""))
    world.write("home/.gitconfig", "[credential]\n\tinteractive = false\n")
    same(on_terminal(world, "git-credential-tokenkeep --interactive get <request", ""), (0, ""))


def a_dismissed_question_is_no_crash(world):
    locked(world)
    code, shown = on_terminal(world, "docker-credential-tokenkeep --interactive list", "\x04")
    same(code, 1)
    has(shown, "no password was entered")


def cargo_asks_for_a_token(world):
    world.write("request", '{"v":1,"registry":{"index-url":"sparse+https://c/","name":"c"},"kind":"login",'
                           '"login-url":"https://c/me","args":[]}\n')
    code, shown = on_terminal(world, "cargo-credential-tokenkeep --cargo-plugin <request >out", "s3cret\n")
    same(code, 0)
    has(shown, "a token of c is to be had at https://c/me", "token of c: ")
    has(world.read("out"), '{"Ok":{"kind":"login"}}')
    same(world.load("cargo:sparse+https://c/", ""), "s3cret")


def setup_writes_after_a_yes_alone(world):
    _, shown = on_terminal(world, "tokenkeep setup git", "n\n")
    has(shown, "Write it? [y/N] ")
    assert not os.path.exists(world.path("home/.gitconfig"))
    on_terminal(world, "tokenkeep setup git", "y\n")
    has(world.read("home/.gitconfig"), "\thelper = tokenkeep\n")


CASES = cases(globals(), on_terminal, locked, has, same)
