"""`tokenkeep setup`: what it writes, that the tools then use it, and that --undo restores every byte."""
import base64
import configparser
import fcntl
import itertools
import json
import os
import shutil
import signal
import stat
import tomllib

from world import cases, has, same

GIT = ("home/.gitconfig", "git")
DOCKER = ("home/.docker/config.json", "docker")
CARGO = ("home/.cargo/config.toml", "cargo")
PIP = ("home/.config/pip/pip.conf", "python")
UV = ("home/.config/uv/uv.toml", "uv")


def setup(world, *words, code=0, **more):
    return world.run("tokenkeep", "setup", *words, code=code, **more)


def keyring(world, backend="tokenkeep.keyring.Keyring"):
    """Puts a program keyring on the PATH, in front of what is there."""
    world.write("home/bin/keyring", f"#!/bin/sh\necho '{backend} (priority: 4)'\n", 0o755)
    os.chmod(world.path("home/bin/keyring"), 0o755)
    if not world.environment["PATH"].startswith(world.path("home/bin")):
        world.environment["PATH"] = world.path("home/bin") + ":" + world.environment["PATH"]


def files(world):
    found = {}
    for folder, _, names in os.walk(world.home):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[path] = (file.read(), stat.S_IMODE(os.stat(path).st_mode))
    return found


def an_undo_restores_every_byte(world):
    texts = {
        GIT: [None, "", "[user]\n\tname = ann\n", "[credential]\n\thelper = store", "# end", "[user]\r\n\tname = ann\r\n",
              "[user]\r\n\tname = ann"],
        DOCKER: [None, "{}", "{ }\n", '{"credsStore":"pass"}', '{"credsStore":"" }',
                 '{\n\t"auths": {"r": {"credsStore": "x"}},\n\t"z": 1\n}\n',
                 '{"credsStore" : "secretservice" ,"a":"{\\"credsStore\\":\\"no\\"}"}'],
        CARGO: [None, "", "[net]\noffline = true", "[registry]\ndefault = \"x\"\n", "[registry]",
                "[net]\r\noffline = true\r\n\r\n[registry]\r\ndefault = \"x\"\r\n"],
        PIP: [None, "", "[global]\ntimeout = 5", "[list]\nformat = columns\n", "[global]\r\ntimeout = 5\r\n[list]\r\n"],
        UV: [None, "", "native-tls = true\n", "[pip]\nstrict = true", "native-tls = true\r\n"],
    }
    keyring(world)
    for (path, tool), candidates in texts.items():
        for text in candidates:
            if text is not None:
                world.write(path, text, 0o640)
                os.chmod(world.path(path), 0o640)
            before = files(world)
            has(setup(world, tool, "--yes").out, f"{tool}: {world.path(path)} gets\n")
            assert files(world) != before, text
            has(setup(world, tool, "--yes").out, f"{tool}: is set up already\n")
            has(setup(world, tool, "--undo", "--yes").out, f"{tool}: {world.path(path)} loses\n")
            same(files(world), before)
            same(setup(world, tool, "--undo", "--yes").out, f"{tool}: nothing of setup is there\n")
            if text is not None:
                os.remove(world.path(path))


def the_registry_of_a_source_is_not_cargos_own(world):
    text = '[source.crates-io]\nreplace-with = "mirror"\n[source.mirror]\nregistry = "sparse+https://mirror.example/"\n'
    world.write(CARGO[0], text)
    setup(world, "cargo", "--yes")
    same(tomllib.loads(world.read(CARGO[0])), {**tomllib.loads(text), "registry": {
        "global-credential-providers": ["cargo:token", "cargo-credential-tokenkeep"]}})
    setup(world, "cargo", "--undo", "--yes")
    same(world.read(CARGO[0]), text)


def lines_that_end_as_on_windows_are_lines(world):
    world.write(GIT[0], "[credential]\r\n\thelper = store\r\n")
    has(setup(world, "git", "--yes").out, "displaces the helper store; its logins come over with: tokenkeep import --from git-credentials --remove\n")
    # An editor that makes all lines of one kind does not hide the block.
    world.write(GIT[0], "[user]\n\tname = ann\n")
    setup(world, "git", "--yes")
    world.write(GIT[0], world.read(GIT[0]).replace("\n", "\r\n"))
    same(setup(world, "git", "--yes").out, "git: is set up already\n")
    setup(world, "git", "--undo", "--yes")
    same(world.read(GIT[0]), "[user]\r\n\tname = ann\r\n")
    world.write(CARGO[0], "[net]\r\noffline = true\r\n[registry]\r\ndefault = \"x\"\r\n")
    setup(world, "cargo", "--yes")
    same(tomllib.loads(world.read(CARGO[0])), {"net": {"offline": True}, "registry": {
        "global-credential-providers": ["cargo:token", "cargo-credential-tokenkeep"], "default": "x"}})
    has(world.run("tokenkeep", "doctor", code=None).out, "ok helpers: cargo uses cargo-credential-tokenkeep")
    keyring(world)
    world.write(PIP[0], "[list]\r\nformat = columns\r\n[global]\r\ntimeout = 5\r\n")
    setup(world, "python", "--yes")
    read = configparser.ConfigParser()
    read.read_string(world.read(PIP[0]))
    same(dict(read["global"]), {"timeout": "5", "keyring-provider": "subprocess"})
    texts = {
        CARGO: "[net]\r\n[registry]\r\nglobal-credential-providers = []\r\n",
        PIP: "[global]\r\nkeyring-provider = import\r\n",
        UV: "native-tls = true\r\nkeyring-provider = \"disabled\"\r\n",
    }
    for (path, tool), text in texts.items():
        world.write(path, text)
        setup(world, tool, "--yes", code=6)
        same(world.read(path), text)


def a_helper_that_git_got_after_setup_is_displaced(world):
    setup(world, "git", "--yes")
    written = world.read("home/.gitconfig")
    world.write("home/.gitconfig", written + "[credential]\n\thelper = store\n")
    told = setup(world, "git", "--yes").out
    has(told, "    helper = tokenkeep\n", "displaces the helper store; its logins come over with: tokenkeep import --from git-credentials --remove\n")
    git_asks_us_alone(world)
    same(setup(world, "git", "--yes").out, "git: is set up already\n")
    setup(world, "git", "--undo", "--yes")
    same(world.read("home/.gitconfig"), "[credential]\n\thelper = store\n")


def git_asks_us_alone(world):
    world.run("git", "credential", "approve", input="protocol=https\nhost=h\nusername=ann\npassword=p\n\n")
    same(world.load("git:https://h", "ann"), "p")
    assert not os.path.exists(world.path("home/.git-credentials"))


def lines_of_setup_that_git_changed_are_named(world):
    """git config writes into the section that it finds, which is setup's."""
    path = world.path("home/.gitconfig")
    message = (f"tokenkeep: the lines of setup in {path} were changed\n"
               "hint: take them out yourself: they begin with # tokenkeep setup begin\n")
    for words in (("--add", "credential.helper"), ("--replace-all", "credential.helper")):
        setup(world, "git", "--yes")
        world.run("git", "config", "--global", *words, "store")
        same(setup(world, "git", "--yes", code=6).err, message)
        os.remove(path)
    setup(world, "git", "--yes")
    world.run("git", "config", "--global", "credential.useHttpPath", "true")
    same(setup(world, "git", "--yes").out, "git: is set up already\n")


def a_provider_that_took_the_place_of_ours_is_named(world):
    world.write("home/.cargo/config.toml", "[net]\n")
    setup(world, "cargo", "--yes")
    text = world.read("home/.cargo/config.toml").replace(', "cargo-credential-tokenkeep"', "")
    world.write("home/.cargo/config.toml", text)
    has(setup(world, "cargo", "--yes", code=6).err, "config.toml were changed\n")


def git_uses_what_setup_wrote(world):
    world.write("home/.gitconfig", "[credential]\n\thelper = store\n")
    has(setup(world, "git", "--yes").out, "displaces the helper store")
    git_asks_us_alone(world)


def helpers_of_single_addresses_are_named(world):
    world.write("home/.gitconfig", '[credential "https://github.com"]\n\thelper =\n\thelper = !gh auth git-credential\n')
    has(setup(world, "git", "--yes").out, "https://github.com keeps the helper a command for the shell (gh …) of its own")
    world.write("home/.docker/config.json", json.dumps({
        "auths": {"r.example.com": {"auth": "YTpi"}, "empty.example.com": {}}, "credHelpers": {"gcr.io": "gcloud", "p.example.com/org": "x"}}))
    told = setup(world, "docker", "--yes").out
    has(told, "gcr.io keeps the helper gcloud of its own", "r.example.com stays in plain text in the file",
        "p.example.com/org has the helper x, which docker passes over: it asks by host alone")
    assert "empty.example.com" not in told and "YTpi" not in told
    world.write("home/.cargo/credentials.toml", '[registry]\ntoken = "OLD"\n[registries.one]\ntoken = "OLD"\n[registries.two]\n')
    told = setup(world, "cargo", "--yes").out
    variables = ("CARGO_REGISTRY_CREDENTIAL_PROVIDER=cargo:token", "CARGO_REGISTRIES_ONE_CREDENTIAL_PROVIDER=cargo:token")
    has(told, f"of crates.io, which cargo logout alone does not remove. In this order: cargo login && {variables[0]} cargo logout\n",
        f": cargo login --registry one && {variables[1]} cargo logout --registry one\n")
    assert "OLD" not in told and "two" not in told, told


def no_secret_of_a_setting_is_shown(world):
    helper = '!f() { echo "password=ghp_SECRET"; }; f'
    world.run("git", "config", "--global", "credential.helper", helper)
    world.run("git", "config", "--global", "credential.https://ann:SECRET@h.example/x@y?SECRET.helper", helper)
    world.run("git", "config", "--global", "credential.https://g.example.helper", "other --token=SECRET")
    world.write(DOCKER[0], '{"auths": {"ann:SECRET@r.example": {"auth": "YTpi"}}, "credHelpers": {"ann:SECRET@s.example": "x"}}')
    told = ""
    for words in (["doctor"], ["doctor", "--json"], ["setup", "git", "docker", "--yes"], ["setup", "git", "docker", "--undo", "--yes"]):
        told += world.run("tokenkeep", *words, code=None).out
    assert "SECRET" not in told, told
    has(told, "git uses a command for the shell (file:", "displaces the helper a command for the shell\n",
        "https://g.example keeps the helper other … of its own", "git uses other … for https://g.example",
        "hint: git config --global --edit\n", "r.example stays in plain text", "docker uses x for s.example")


def a_helper_beside_its_header_or_a_byte_order_mark_is_named(world):
    for text in ("[credential] helper = store\n", "\ufeff[credential]\n\thelper = store\n",
                 "[user] name = x\n[credential \"https://a]b\"]\thelper = x\n[credential]helper=\"store\"\n"):
        world.write(GIT[0], text)
        has(setup(world, "git", "--yes").out, "displaces the helper store; its logins come over with: tokenkeep import --from git-credentials --remove\n")


def a_file_that_git_cannot_read_is_refused(world):
    for text in ("[credential\n", "[user]\n\tname = \"x\n"):
        world.write(GIT[0], text)
        has(setup(world, "git", "--yes", code=2).err, f"git itself cannot read {world.path(GIT[0])}\nhint: git config --file ")
        same(world.read(GIT[0]), text)


def cargos_old_token_goes_by_the_advised_commands(world):
    world.write(CARGO[0], '[registries.example]\nindex = "sparse+http://127.0.0.1:9/index/"\n')
    world.write("home/.cargo/credentials.toml", '[registries.example]\ntoken = "OLD"\n[registry]\ntoken = "OLD"\n')
    has(world.run("tokenkeep", "doctor", code=1).out, "hint: tokenkeep setup cargo --yes && cargo login --registry example && CARGO_")
    notes = [line for line in setup(world, "cargo", "--yes").out.splitlines() if "In this order: " in line]
    environment = {"RUSTUP_HOME": os.environ.get("RUSTUP_HOME", f"{os.environ['HOME']}/.rustup")}
    for note in notes:
        # The registry cannot be asked here: of the two commands, the second.
        world.run("sh", "-c", note.partition("In this order: ")[2].partition(" && ")[2], env=environment)
    assert "OLD" not in world.read("home/.cargo/credentials.toml")


# Without a line feed at its end, as some programs write it.
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"


def kubectl_sends_the_token_that_its_file_had(world):
    """By the command that doctor advises."""
    encoded = [base64.b64encode(text.encode()).decode() for text in (CERTIFICATE, KEY)]
    for name, fields in (("prod", {"token": "SECRET"}),
                         ("cert", {"client-certificate-data": encoded[0], "client-key-data": encoded[1]})):
        world.write("home/.kube/config", json.dumps({
            "apiVersion": "v1", "kind": "Config", "users": [{"name": name, "user": fields}]}))
        told = world.run("tokenkeep", "doctor", code=1).out
        command = [line.strip()[6:] for line in told.splitlines() if "hint: " in line and "kubectl config" in line]
        same(len(command), 1)
        world.run("bash", "-euo", "pipefail", "-c", command[0].replace("NAME", name))
        text = world.read("home/.kube/config")
        assert "SECRET" not in text and encoded[1] not in text, text
        has(text, "kubectl-tokenkeep", "client.authentication.k8s.io/v1", "interactiveMode: IfAvailable")
    same(world.load("kubernetes:prod", ""), "SECRET")
    same(world.load("kubernetes:cert", ""), f"{CERTIFICATE}\n{KEY}")


def a_setup_that_runs_keeps_its_file(world):
    for tool, path in (DOCKER[::-1], GIT[::-1]):
        folder, _, name = path.rpartition("/")
        with open(world.write(f"{folder}/.{name}.tokenkeep", "its"), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            has(setup(world, tool, "--yes", code=6).err, f"another setup writes {world.path(path)}")
        same(world.read(f"{folder}/.{name}.tokenkeep"), "its")


def what_a_killed_setup_left_goes_with_the_next(world):
    world.write(DOCKER[0], '{"auths":{"r":{"auth":"YTpi"}}}', 0o644)
    for word in ("write", "fchmod", "fsync", "rename"):
        ended = world.run("strace", "-f", "-qq", "-o", "/dev/null", "-P", world.path("home/.docker/.config.json.tokenkeep"),
                          "-e", f"trace={word}", "-e", f"inject={word}:signal=SIGKILL:when=1",
                          "tokenkeep", "setup", "docker", "--yes", code=None)
        same(ended.returncode, -9)
        left = os.listdir(world.path("home/.docker"))
        same(sorted(left), [".config.json.tokenkeep", "config.json"])
    setup(world, "docker", "--undo", "--yes")
    same(os.listdir(world.path("home/.docker")), ["config.json"])
    setup(world, "docker", "--yes")
    same(os.listdir(world.path("home/.docker")), ["config.json"])
    same(stat.S_IMODE(os.stat(world.path(DOCKER[0])).st_mode), 0o644)


def docker_is_configured_for_its_helper(world):
    world.write("home/.docker/config.json", '{"auths":{}}')
    setup(world, "docker", "--yes")
    same(json.loads(world.read("home/.docker/config.json")), {"auths": {}, "credsStore": "tokenkeep"})


def pip_and_uv_ask_the_program_keyring(world):
    bare = {"PATH": os.path.dirname(shutil.which("tokenkeep", path=world.environment["PATH"]))}
    has(setup(world, "python", "--yes", code=4, env=bare).err,
        "the program keyring is not on the PATH, which pip and uv run")
    for backend in ("keyring.backends.fail.Keyring", "other.tokenkeep.Keyring"):
        keyring(world, backend)
        has(setup(world, "python", "--yes", code=4).err, "the program keyring does not have TokenKeep's backend")
    # Without names it is passed over.
    assert "python" not in setup(world, "--yes").out
    setup(world, "--undo", "--yes")
    keyring(world)
    # As pip reads them: text behind a header is none of it, and spaces in it are.
    for header in ("[global]  # mine", "[ global ]\nx = 1\n[global]", "[ global ]"):
        world.write(PIP[0], header + "\ntimeout = 5\n")
        setup(world, "python", "--yes")
        read = configparser.RawConfigParser()
        read.read_string(world.read(PIP[0]))
        same(read["global"]["keyring-provider"], "subprocess")
        setup(world, "python", "--undo", "--yes")
        same(world.read(PIP[0]), header + "\ntimeout = 5\n")
    world.write(PIP[0], "[global]\ntimeout = 5\n")
    setup(world, "python", "--yes")
    read = configparser.ConfigParser()
    read.read_string(world.read(PIP[0]))
    same(dict(read["global"]), {"timeout": "5", "keyring-provider": "subprocess"})
    world.write(UV[0], "[pip]\nstrict = true\n")
    setup(world, "uv", "--yes")
    same(tomllib.loads(world.read(UV[0])), {"keyring-provider": "subprocess", "pip": {"strict": True}})
    for name in ("keyring-provider", "keyring_provider", "Keyring-Provider", "--keyring-provider"):
        world.write(PIP[0], f"[global]\n{name} = import\n")
        has(setup(world, "python", "--yes", code=6).err, "pip.conf has a keyring-provider already")


def nothing_is_written_without_a_yes(world):
    before = files(world)
    told = setup(world, "git", code=5)
    has(told.out, "helper = tokenkeep")
    has(told.err, "setup asks before it writes, and there is no terminal")
    same(files(world), before)


def what_setup_cannot_change_is_said(world):
    has(setup(world, "frob", code=2).err, "setup does not know the tool frob")
    world.write("home/.docker/config.json", "[")
    has(setup(world, "docker", "--yes", code=2).err, "config.json is not one JSON object with each member once")
    world.write("home/.docker/config.json", '{"credsStore":5}')
    has(setup(world, "docker", "--yes", code=2).err, "the member credsStore of docker's configuration is no string")
    path = world.path("home/.docker/config.json")
    for text in ('{"creds\\u0053tore":"pass"}', '{"credsStore":"tokenkeep","CredsStore":"pass"}'):
        world.write("home/.docker/config.json", text)
        has(setup(world, "docker", "--yes", code=6).err, f"{path} writes the name credsStore in another way")
        same(world.read("home/.docker/config.json"), text)
    for text in ('[registry]\nglobal-credential-providers = ["x"]\n', 'registry.default = "x"\n'):
        world.write("home/.cargo/config.toml", text)
        has(setup(world, "cargo", "--yes", code=6).err, "sets the providers already, or the registry in another form")
        same(world.read("home/.cargo/config.toml"), text)
    world.write("home/.gitconfig", b"\xff")
    has(setup(world, "git", "--yes", code=2).err, ".gitconfig is not UTF-8")
    world.write("home/.gitconfig", "#" * (1 << 20) + "#")
    has(setup(world, "git", "--yes", code=2).err, ".gitconfig is longer than 1048576 bytes")
    os.remove(world.path("home/.gitconfig"))
    os.mkdir(world.path("home/.gitconfig"))
    has(setup(world, "git", "--yes", code=2).err, ".gitconfig is not a file")
    # The other tools are set up all the same.
    os.remove(world.path("home/.cargo/config.toml"))
    has(setup(world, "git", "cargo", "--yes", code=2).out, "cargo: ")
    assert os.path.exists(world.path("home/.cargo/config.toml"))


def changed_lines_are_left_alone(world):
    setup(world, "git", "--yes")
    text = world.read("home/.gitconfig").replace("helper = tokenkeep", "helper = tokenkeep\n\tuseHttpPath = true")
    world.write("home/.gitconfig", text)
    path = world.path("home/.gitconfig")
    has(setup(world, "git", "--undo", "--yes", code=6).err, f"the lines of setup in {path} were changed")
    same(world.read("home/.gitconfig"), text)


def a_file_of_another_user_is_refused(world):
    world.write("home/.gitconfig", "")
    os.chown(world.path("home/.gitconfig"), 65534, 65534)
    has(setup(world, "git", "--yes", code=5).err, "belongs to user 65534")


def nothing_is_made_in_the_home_of_another_user(world):
    """As with sudo -E: a directory of root's would shut the user out of his own."""
    home = world.path("home")
    os.chown(home, 54321, 54321)
    for tool in ("git", "docker", "cargo"):
        told = setup(world, tool, "--yes", code=5)
        has(told.err, f"would be made in {home}, which belongs to user 54321", "sudo -u '#54321' COMMAND")
    same(os.listdir(home), [".config"])


def a_link_stays_a_link(world):
    world.write("dotfiles/gitconfig", "[user]\n")
    os.symlink(world.path("dotfiles/gitconfig"), world.path("home/.gitconfig"))
    setup(world, "git", "--yes")
    assert os.path.islink(world.path("home/.gitconfig"))
    has(world.read("dotfiles/gitconfig"), "[user]\n", "helper = tokenkeep")


def a_link_to_a_file_that_is_not_there_stays_a_link(world):
    os.makedirs(world.path("home/dotfiles"))
    os.symlink("gitconfig", world.path("home/dotfiles/current"))
    os.symlink("dotfiles/current", world.path("home/.gitconfig"))
    setup(world, "git", "--yes")
    has(world.read("home/dotfiles/gitconfig"), "helper = tokenkeep")
    setup(world, "git", "--undo", "--yes")
    assert os.path.islink(world.path("home/.gitconfig"))
    same(os.listdir(world.path("home/dotfiles")), ["current"])


def a_relative_folder_is_made_where_the_user_is(world):
    setup(world, "docker", "--yes", env={"DOCKER_CONFIG": "settings/docker"})
    same(json.loads(world.read("settings/docker/config.json")), {"credsStore": "tokenkeep"})


def each_folder_of_docker_gets_its_own_setting_back(world):
    folders = {f"{name}/{'x' * 60}/docker": helper for name, helper in (("a", "pass"), ("b", "secretservice"))}
    for folder, helper in folders.items():
        world.write(f"{folder}/config.json", json.dumps({"credsStore": helper}))
        setup(world, "docker", "--yes", env={"DOCKER_CONFIG": world.path(folder)})
    for folder, helper in folders.items():
        setup(world, "docker", "--undo", "--yes", env={"DOCKER_CONFIG": world.path(folder)})
        same(json.loads(world.read(f"{folder}/config.json")), {"credsStore": helper})


def a_helper_beside_the_program_is_named_by_its_path(world):
    told = world.run(f"{world.bin}/tokenkeep", "setup", "git", "--yes", code=None, env={"PATH": "/usr/bin:/bin"})
    beside = os.path.join(os.path.dirname(os.path.realpath(f"{world.bin}/tokenkeep")), "git-credential-tokenkeep")
    if os.path.exists(beside):
        has(told.out, f"helper = {beside}")
    else:
        has(told.err, "git-credential-tokenkeep is not installed beside this program")
    told = world.run(f"{world.bin}/tokenkeep", "setup", "docker", "--yes", code=4, env={"PATH": "/usr/bin:/bin"})
    has(told.err, "docker-credential-tokenkeep is not on the PATH, where docker looks for it")
    told = world.run(f"{world.bin}/tokenkeep", "setup", "podman", "--yes", code=4, env={"PATH": "/usr/bin:/bin"})
    has(told.err, "docker-credential-tokenkeep is not on the PATH, where podman looks for it")


def a_path_that_settings_cannot_name_is_refused(world):
    folder = world.path("a b")
    os.mkdir(folder)
    shutil.copy(os.path.realpath(f"{world.bin}/tokenkeep"), folder)
    world.write("a b/git-credential-tokenkeep", "", 0o755)
    told = world.run(f"{folder}/tokenkeep", "setup", "git", "--yes", code=4, env={"PATH": "/usr/bin:/bin"})
    has(told.err, f"{folder}/git-credential-tokenkeep is not a plain path")


def a_killed_setup_leaves_whole_files(world):
    old = {GIT[0]: "[user]\n\tname = ann\n", DOCKER[0]: '{"credsStore":"pass"}', CARGO[0]: "[net]\n"}
    for path, text in old.items():
        world.write(path, text)
    # strace counts the calls of each name apart. `make verify` kills it at reads and lookups, too.
    everywhere = bool(os.environ.get("TOKENKEEP_EVERY_MOMENT"))
    names = "write,rename,fsync,unlink,mkdir,fchmod" + (",openat,read,readlink,access" if everywhere else "")
    moments = 0
    for name, words in itertools.product(names.split(","), (["--yes"], ["--undo", "--yes"])):
        for number in range(1, 400):
            ended = world.run("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={name}",
                              "-e", f"inject={name}:signal=SIGKILL:when={number}", "tokenkeep", "setup", "git", "docker", "cargo",
                              *words, code=None)
            for path, text in old.items():
                found = world.read(path)
                assert found == text or "tokenkeep" in found, found
            if ended.returncode == 0:
                break
            same(ended.returncode, -signal.SIGKILL)
            moments += 1
        same(ended.returncode, 0)
    assert moments > (200 if everywhere else 10), moments
    setup(world, "--undo", "--yes")
    same({path: world.read(path) for path in old}, old)


a_file_of_another_user_is_refused.as_root = True
nothing_is_made_in_the_home_of_another_user.as_root = True
a_killed_setup_leaves_whole_files.needs = ["strace"]
what_a_killed_setup_left_goes_with_the_next.needs = ["strace"]
cargos_old_token_goes_by_the_advised_commands.needs = ["cargo"]
kubectl_sends_the_token_that_its_file_had.needs = ["kubectl"]
CASES = cases(globals(), setup, files, git_asks_us_alone, has, same)
