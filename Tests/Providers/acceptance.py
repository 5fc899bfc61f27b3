"""What every provider must do, played with the installed program and secret-tool: each check raises what went wrong."""
import json

CHECKS = []
PROCESSES = 200


def check(name):
    def add(function):
        CHECKS.append((name, function))
        return function
    return add


class Failed(Exception):
    pass


class Player:
    """A provider on its bus, and the program that uses it."""

    def __init__(self, program, conditions, surroundings, provider):
        self.program = program
        self.conditions = conditions
        self.around = surroundings
        self.provider = provider

    def tokenkeep(self, *arguments, text=b"", expect=0):
        """The program's output; its exit code must be `expect`."""
        code, output, errors = self.around.run([self.program, *arguments, "--stack", "any required secret-service"], text)
        if code != expect:
            raise Failed(f"tokenkeep {' '.join(arguments)}: {code} instead of {expect}: {errors}")
        return output

    def secret_tool(self, *arguments, text=b"", expect=0):
        code, output, errors = self.around.run(["secret-tool", *arguments], text)
        if code != expect:
            raise Failed(f"secret-tool {' '.join(arguments)}: {code} instead of {expect}: {errors}")
        return output

    def save(self, service, account, secret, *options, expect=0):
        self.tokenkeep("save", service, account, *options, text=secret, expect=expect)

    def loads(self, service, account, secret):
        same(self.tokenkeep("load", service, account), secret, f"load {service} {account}")

    def items(self, *arguments):
        return json.loads(self.tokenkeep("list", "--json", *arguments))["items"]


def same(found, expected, what):
    if found != expected:
        raise Failed(f"{what}: {found!r} instead of {expected!r}")


@check("save, load")
def saves_and_loads(play):
    play.save("example.com", "ann", b"token")
    play.loads("example.com", "ann", b"token")


@check("overwrite")
def overwrites(play):
    play.save("example.com", "ann", b"token-2")
    play.loads("example.com", "ann", b"token-2")
    same(len(play.items("example.com")), 1, "items")


@check("attributes")
def changes_attributes(play):
    play.save("attributes.example", "ann", b"one", "--label", "First", "--attribute", "role=a")
    play.save("attributes.example", "ann", b"two", "--label", "Second", "--attribute", "role=b", "--expires", "2040-01-01")
    play.loads("attributes.example", "ann", b"two")
    items = play.items("attributes.example")
    same([(item["label"], item["attributes"]) for item in items], [("Second", {"role": "b"})], "items")


@check("newline, binary")
def keeps_every_byte(play):
    for account, secret in [("newline", b"two\nlines\n"), ("binary", bytes(range(256))), ("spaces", b" \\ x ")]:
        play.save("bytes.example", account, secret)
        play.loads("bytes.example", account, secret)


@check("list")
def lists(play):
    names = sorted((item["service"], item["account"]) for item in play.items())
    same(names, [
        ("attributes.example", "ann"), ("bytes.example", "binary"), ("bytes.example", "newline"), ("bytes.example", "spaces"),
        ("example.com", "ann")], "list")


@check("secret-tool finds ours")
def secret_tool_finds_ours(play):
    same(play.secret_tool("lookup", "service", "example.com", "username", "ann"), b"token-2", "secret-tool lookup")


@check("we load secret-tool's")
def secret_tools_item_is_loaded(play):
    play.secret_tool("store", "--label=Bob", "service", "foreign.example", "username", "bob", text=b"theirs")
    play.loads("foreign.example", "bob", b"theirs")


@check("saved over it")
def a_foreign_item_is_updated(play):
    play.save("foreign.example", "bob", b"ours")
    play.loads("foreign.example", "bob", b"ours")
    same(play.secret_tool("lookup", "service", "foreign.example", "username", "bob"), b"ours", "secret-tool lookup")
    code, output, errors = play.around.run(["secret-tool", "search", "--all", "service", "foreign.example", "username", "bob"])
    same(output.count(b"secret = "), 1, f"items that secret-tool finds ({code} {errors})")


@check("if-version, if-absent")
def conditions_hold(play):
    """A list has no versions of the keyring's items: a program in C loads one."""
    code, output, errors = play.around.run([play.conditions, "example.com", "ann", "token-3"])
    same(code, 0, f"conditions: {output.decode()} {errors}")
    play.save("example.com", "ann", b"lost", "--if-absent", expect=6)
    play.save("absent.example", "ann", b"first", "--if-absent")
    play.loads("example.com", "ann", b"token-3")
    play.loads("absent.example", "ann", b"first")


@check("clear")
def clears(play):
    for service, account in [("absent.example", "ann"), ("foreign.example", "bob")]:
        play.tokenkeep("clear", service, account, "--interactive")
        play.tokenkeep("load", service, account, expect=1)
        play.secret_tool("lookup", "service", service, "username", account, expect=1)


@check("restart")
def a_restart_keeps_everything(play):
    play.provider.restart()
    play.loads("example.com", "ann", b"token-3")
    play.loads("bytes.example", "binary", bytes(range(256)))


@check(f"{PROCESSES} processes")
def every_fresh_process_works(play):
    """Each negotiates a session: some providers fail in about 1 of 128. Every fourth one saves."""
    secret = b"token-3"
    for number in range(PROCESSES):
        if number % 4 == 3:
            secret = b"token %d" % number
            play.save("example.com", "ann", secret)
        else:
            play.loads("example.com", "ann", secret)


@check("locked")
def a_locked_collection_is_locked(play):
    play.provider.lock()
    play.tokenkeep("load", "example.com", "ann", expect=3)
    play.tokenkeep("load", "example.com", "nobody", expect=3)
    play.save("example.com", "ann", b"lost", expect=3)


def failing_lookups(play):
    """The lookups of secret-tool that fail among as many: what a client sees that does not try again."""
    play.save("peer.example", "ann", b"token")
    commands = (play.around.run(["secret-tool", "lookup", "service", "peer.example", "username", "ann"]) for _ in range(PROCESSES))
    return sum(output != b"token" for _, output, _ in commands)
