"""cargo's provider: the protocol, and cargo itself against a registry of crates."""
import json
import os

from servers import crate_registry
from world import cases, has, same

INDEX = "sparse+https://crates.example.com/"
REGISTRY = {"index-url": INDEX, "name": "example"}


def say(world, *requests, raw=None, code=0, options=(), **more):
    """What the provider answers to each request."""
    lines = raw or "".join(json.dumps({"v": 1, "registry": REGISTRY, "args": [], **request}) + "\n" for request in requests)
    told = world.run("cargo-credential-tokenkeep", *options, "--cargo-plugin", input=lines, code=code, **more)
    first, *answers = told.out.splitlines()
    same(first, '{"v":[1]}')
    return [json.loads(answer) for answer in answers]


GET = {"kind": "get", "operation": "read"}
NOT_FOUND = {"Err": {"kind": "not-found"}}


def login_get_and_logout(world):
    same(say(world, GET, {"kind": "login", "token": "t"}, GET, {"kind": "logout"}, GET, {"kind": "logout"}), [
        NOT_FOUND, {"Ok": {"kind": "login"}},
        {"Ok": {"kind": "get", "token": "t", "cache": "session", "operation_independent": True}},
        {"Ok": {"kind": "logout"}}, NOT_FOUND, NOT_FOUND])


def an_expiry_is_told(world):
    world.save(f"cargo:{INDEX}", "", "t", "--expires", "@32503680000")
    same(say(world, GET)[0]["Ok"]["cache"], "expires")
    same(say(world, GET)[0]["Ok"]["expiration"], 32_503_680_000)
    world.save(f"cargo:{INDEX}", "", "t", "--expires", "@1000000000")
    has(say(world, GET)[0]["Err"]["message"], "expired at 2001-09-09T01:46:40Z; sign in again: cargo login")


def failures_are_told_in_the_protocol(world):
    same(say(world, {"kind": "publish-all"}), [{"Err": {"kind": "operation-not-supported"}}])
    for request, message in [
        ({"v": 2, "kind": "get"}, "cargo speaks another version than 1 of the protocol"),
        ({"kind": "get", "registry": {}}, "cargo's request names no registry"),
        ({"kind": "get", "args": ["--frob"]}, "there is no option --frob"),
        ({"kind": "get", "args": ["frob"]}, "an argument is no option"),
    ]:
        has(say(world, request)[0]["Err"]["message"], message)
    has(say(world, raw="nonsense\n")[0]["Err"]["message"], "cargo's request is not one JSON object with each member once")
    say(world, raw='{"v":1,', code=2)
    for token, message in (("", "the token is empty"), ("two\nlines", "the token is not one line of text")):
        has(say(world, {"kind": "login", "token": token})[0]["Err"]["message"], message)
    same(world.services(), set())
    world.save(f"cargo:{INDEX}", "", "two\nlines")
    has(say(world, GET)[0]["Err"]["message"], "is not one line of text")


def options_of_the_configuration_count(world):
    say(world, {"kind": "login", "token": "t", "args": ["--namespace", "work"]})
    same(say(world, GET), [NOT_FOUND])
    same(say(world, {**GET, "args": ["--namespace=work"]})[0]["Ok"]["token"], "t")


def a_locked_vault_is_told(world):
    say(world, {"kind": "login", "token": "t"})
    world.lock()
    for request in (GET, {"kind": "logout"}, {"kind": "login", "token": "u"}):
        error = say(world, request)[0]["Err"]
        same(error["kind"], "other")
        has(error["message"], "locked")


def cargo_signs_in_yanks_and_signs_out(world):
    with crate_registry() as registry:
        registry.tokens.add("s3cret")
        # rustup's homes are below the real home.
        home = os.environ["HOME"]
        environment = {"CARGO_HOME": world.path("cargo"), "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", f"{home}/.rustup")}
        index = f"sparse+{registry.address}/index/"
        world.write("cargo/config.toml", f"""
            [registries.example]
            index = "{index}"
            credential-provider = ["cargo-credential-tokenkeep"]
            """)
        world.run("cargo", "login", "--registry", "example", input="s3cret\n", env=environment)
        same(world.load(f"cargo:{index}", ""), "s3cret")
        world.run("cargo", "yank", "--registry", "example", "--version", "1.0.0", "thing", env=environment)
        has("\n".join(registry.requests), "DELETE /api/v1/crates/thing/1.0.0/yank")
        world.run("cargo", "logout", "--registry", "example", env=environment)
        same(world.services(), set())
        world.run("cargo", "yank", "--registry", "example", "--version", "1.0.0", "thing", env=environment, code=101)


def cargo_finds_the_helper_by_an_alias_as_doctor_says(world):
    """doctor reads cargo's settings itself: cargo shows that it reads them alike."""
    home = os.environ["HOME"]
    environment = {"CARGO_HOME": world.path("cargo"), "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", f"{home}/.rustup")}
    with crate_registry() as registry:
        index = f"sparse+{registry.address}/index/"
        for setting in ("registry.global-credential-providers = ['cargo:token', 'kept']",
                        "registries.example.credential-provider = 'kept'"):
            world.write("cargo/config.toml", f"""{setting}
                registries.example.index = "{index}"
                credential-alias.kept = ["cargo-credential-tokenkeep", "--timeout", "300"]
                """)
            world.run("cargo", "login", "--registry", "example", input="s3cret\n", env=environment)
            same(world.load(f"cargo:{index}", ""), "s3cret")
            world.run("cargo", "logout", "--registry", "example", env=environment)
            told = world.run("tokenkeep", "doctor", env=environment, code=None).out
            has(told, "ok helpers: cargo uses cargo-credential-tokenkeep by the alias kept")


cargo_signs_in_yanks_and_signs_out.needs = cargo_finds_the_helper_by_an_alias_as_doctor_says.needs = ["cargo"]
CASES = cases(globals(), say, crate_registry, has, same)
