"""docker's helper: the protocol, docker itself, podman and skopeo against a small registry."""
import json
import os
import subprocess

from patience import PATIENCE
from servers import container_registry
from world import cases, has, same

SERVER = "https://registry.example.com"


def helper(world, operation, text, *options, **more):
    return world.run("docker-credential-tokenkeep", *options, operation, input=text, **more)


def store(world, username, secret, server=SERVER, **more):
    return helper(world, "store", json.dumps({"ServerURL": server, "Username": username, "Secret": secret}), **more)


def what_is_stored_is_got(world):
    same(store(world, "ann", "p<&>\n\u00e9\"").out, "")
    for text in (SERVER, f"  {SERVER}\r\n"):
        same(json.loads(helper(world, "get", text).out),
             {"ServerURL": SERVER, "Username": "ann", "Secret": "p<&>\n\u00e9\""})
    same(world.services(), {(f"docker:{SERVER}", "ann")})
    helper(world, "erase", SERVER)
    helper(world, "erase", SERVER)
    same(world.services(), set())


def large_secrets_and_identity_tokens(world):
    for secret in ("t" * 65_536, "t" * 1_000_000):
        store(world, "<token>", secret)
        same(json.loads(helper(world, "get", SERVER).out)["Secret"], secret)
    same(store(world, "<token>", "t" * 1_048_577, code=1).out, "the secret is longer than 1048576 bytes\n")


def of_two_logins_at_once_one_stays(world):
    for number in range(12):
        server = f"https://r{number}.example.com"
        running = []
        for username in ("ann", "bob"):
            running.append(subprocess.Popen(["docker-credential-tokenkeep", "store"], env=world.environment, stdin=subprocess.PIPE))
            request = json.dumps({"ServerURL": server, "Username": username, "Secret": username}).encode()
            running[-1].stdin.write(request)
        for one in running:
            one.stdin.close()
        for one in running:
            same(one.wait(timeout=PATIENCE), 0)
        # Of two that are saved within the same moment, both may stay until the next login.
        assert {name for name, _ in world.services()} >= {f"docker:{server}"}
        store(world, "ann", "ann", server)
        same([account for name, account in world.services() if name == f"docker:{server}"], ["ann"])


def a_login_with_the_present_password_counts(world):
    store(world, "ann", "a")
    world.save(f"docker:{SERVER}", "bob", "b")
    store(world, "ann", "a")
    same((world.services(), json.loads(helper(world, "get", SERVER).out)["Username"]), ({(f"docker:{SERVER}", "ann")}, "ann"))


def another_account_replaces_the_first(world):
    store(world, "ann", "a")
    store(world, "bob", "b")
    same(world.services(), {(f"docker:{SERVER}", "bob")})


def the_list_has_items_of_docker_alone(world):
    same(helper(world, "list", "").out, "{}\n")
    store(world, "ann", "a")
    store(world, "bob", "b", "localhost:5000")
    world.save("git:https://example.com", "ann", "p")
    same(json.loads(helper(world, "list", "").out), {SERVER: "ann", "localhost:5000": "bob"})


def docker_reads_these_texts(world):
    for operation, text, message in [
        ("get", SERVER, "credentials not found in native keychain"), ("get", "", "no credentials server URL"),
        ("erase", " \n", "no credentials server URL"),
        ("store", '{"ServerURL":"","Username":"ann","Secret":"p"}', "no credentials server URL"),
        ("store", '{"ServerURL":"x","Username":"","Secret":"p"}', "no credentials username"),
        ("store", '{"ServerURL":"x","Username":"ann"}', "the request has no Secret"),
        ("store", '{"ServerURL":5}', "the member ServerURL is no string"),
        ("store", '{"ServerURL":"x","Username":"ann","Secret":5}', "the member Secret is no string"),
        ("store", '{"ServerURL":"x","ServerURL":"y"}', "standard input is not one JSON object with each member once"),
        ("store", "[" * 100_000, "standard input is not one JSON object with each member once"),
        ("store", b'{"ServerURL":"\xff"}', "standard input is not one JSON object with each member once"),
        ("get", b"\xff", "the server's address is not UTF-8"),
        ("frob", "", "docker's helper has no operation frob"),
    ]:
        told = helper(world, operation, text, code=1)
        same((told.out, told.err), (message + "\n", ""))
    has(world.run("docker-credential-tokenkeep", code=1).out, "the operation is missing")
    has(helper(world, "get", SERVER, "--frob", code=1).out, "there is no option --frob")
    has(helper(world, "version", "").out, "docker-credential-tokenkeep (tokenkeep) v")


def a_person_reads_what_docker_cannot(world):
    told = world.run("sh", "-c", "docker-credential-tokenkeep get >/dev/full", input=SERVER, code=1)
    same(told.err, "tokenkeep: credentials not found in native keychain\n")


def a_locked_vault_is_not_signed_out(world):
    store(world, "ann", "p")
    world.lock()
    for operation, text in (("get", SERVER), ("list", ""), ("erase", SERVER)):
        told = helper(world, operation, text, code=1)
        has(told.out, "locked")
        assert "not found" not in told.out
    same(json.loads(helper(world, "get", SERVER, "--password-file", world.password).out)["Secret"], "p")


def an_expired_secret_is_not_handed_out(world):
    world.save(f"docker:{SERVER}", "ann", "p", "--expires", "2001-01-01")
    has(helper(world, "get", SERVER, code=1).out, f"docker:{SERVER} (ann) expired at 2001-01-01T00:00:00Z")


def a_session_answers_and_a_logout_ends_it(world):
    with container_registry() as server:
        world.write("home/.config/tokenkeep/providers.d/registry.conf",
                    f"token_endpoint = {server.address}/token\nclient_id = app\nrotation = strict\n")
        begun = '{"access_token":"access-1","token_type":"Bearer","expires_in":0,"refresh_token":"refresh-1"}'
        world.run("tokenkeep", "session", "begin", f"docker:{SERVER}", "ann", "--provider", "registry", input=begun)
        same(json.loads(helper(world, "get", SERVER).out)["Secret"], "access-2")
        same(server.requests, ["renewed"])
        # docker stores what it was given: the session stays.
        store(world, "ann", "access-2")
        has(store(world, "ann", "other", code=1).out, f"docker:{SERVER} (ann) has a session, which stays")
        same(json.loads(helper(world, "get", SERVER).out)["Secret"], "access-2")
        helper(world, "erase", SERVER)
        has(helper(world, "get", SERVER, code=1).out, "credentials not found in native keychain")
        has(world.run("tokenkeep", "session", "show", f"docker:{SERVER}", "ann", code=None).out, "signed-out")


def docker_signs_in_and_out(world):
    world.write("home/.docker/config.json", '{"credsStore":"tokenkeep"}')
    with container_registry() as registry:
        registry.passwords["ann"] = "s3cret"
        address = f"127.0.0.1:{registry.port}"
        environment = {"DOCKER_HOST": "unix:///nonexistent.sock"}
        world.run("docker", "login", "-u", "ann", "--password-stdin", address, input="s3cret", env=environment)
        same(world.load(f"docker:{address}", "ann"), "s3cret")
        assert "s3cret" not in world.read("home/.docker/config.json")
        world.run("docker", "logout", address, env=environment)
        same(world.services(), set())


def skopeo_signs_in_and_out(world):
    with container_registry() as registry:
        registry.passwords["ann"] = "s3cret"
        address = f"127.0.0.1:{registry.port}"
        world.write("home/auth.json", json.dumps({"credHelpers": {address: "tokenkeep"}}))
        options = ["--authfile", f"{world.home}/auth.json"]
        world.run("skopeo", "login", "--tls-verify=false", *options, "-u", "ann", "--password-stdin", address,
                  input="s3cret")
        same(world.load(f"docker:{address}", "ann"), "s3cret")
        same(world.run("skopeo", "login", *options, "--get-login", address).out, "ann\n")
        world.run("skopeo", "logout", *options, address)
        same(world.services(), set())


def podman_of(world):
    """podman with all that it keeps in the world, and its environment."""
    environment = {"XDG_RUNTIME_DIR": world.path("run")}
    os.mkdir(environment["XDG_RUNTIME_DIR"], 0o700)
    program = ["podman", "--storage-driver=vfs", f"--root={world.path('storage')}", f"--runroot={world.path('run')}"]
    return program, environment


def podman_signs_in_and_out_by_the_helper_of_a_registry(world):
    with container_registry() as registry:
        registry.passwords["ann"] = "s3cret"
        address = f"127.0.0.1:{registry.port}"
        podman, environment = podman_of(world)
        settings = json.dumps({"credHelpers": {address: "tokenkeep"}})
        environment["REGISTRY_AUTH_FILE"] = world.write("home/.config/containers/auth.json", settings)
        login = [*podman, "login", "--tls-verify=false"]
        world.run(*login, "-u", "ann", "--password-stdin", address, input="wrong", env=environment, code=125)
        same(world.services(), set())
        world.run(*login, "-u", "ann", "--password-stdin", address, input="s3cret", env=environment)
        same(world.load(f"docker:{address}", "ann"), "s3cret")
        same(world.run(*login, "--get-login", address, env=environment).out, "ann\n")
        # It asks the helper for the password that it has, and the registry takes it.
        registry.requests.clear()
        world.run(*login, address, env=environment)
        same(registry.requests, ["GET /v2/"])
        world.run(*podman, "logout", address, env=environment)
        same(world.services(), set())
        same(json.loads(world.read("home/.config/containers/auth.json"))["credHelpers"], {address: "tokenkeep"})
        assert "s3cret" not in world.read("home/.config/containers/auth.json")


def podman_signs_in_and_out_by_a_helper_for_every_registry(world):
    with container_registry() as registry:
        registry.passwords["ann"] = "s3cret"
        address = f"127.0.0.1:{registry.port}"
        podman, environment = podman_of(world)
        environment["CONTAINERS_REGISTRIES_CONF"] = world.write(
            "home/registries.conf", 'credential-helpers = ["tokenkeep"]\n')
        login = [*podman, "login", "--tls-verify=false"]
        world.run(*login, "-u", "ann", "--password-stdin", address, input="s3cret", env=environment)
        same(world.load(f"docker:{address}", "ann"), "s3cret")
        same(world.run(*login, "--get-login", address, env=environment).out, "ann\n")
        told = subprocess.run(["grep", "-rl", "s3cret", world.home, world.path("run")], capture_output=True, check=False)
        same((told.returncode, told.stdout, told.stderr), (1, b"", b""))
        world.lock()
        told = world.run(*login, "--get-login", address, env=environment, code=None)
        assert told.returncode != 0 and "locked" in told.out + told.err, told.out + told.err
        world.run("tokenkeep", "unlock", "--password-file", world.password)
        world.run(*podman, "logout", address, env=environment)
        same(world.services(), set())


podman_signs_in_and_out_by_the_helper_of_a_registry.needs = ["podman"]
podman_signs_in_and_out_by_a_helper_for_every_registry.needs = ["podman"]
docker_signs_in_and_out.needs = ["docker"]
skopeo_signs_in_and_out.needs = ["skopeo"]
CASES = cases(globals(), helper, store, podman_of, container_registry, has, same)
