"""`tokenkeep setup`: files that cannot be written or belong to others, podman's files, and names that need quoting."""
import fcntl
import json
import os
import stat

from setup_cases import CARGO, DOCKER, GIT, files, setup
from world import cases, has, same


def podman_and_skopeo_find_what_their_file_had(world):
    """By the commands that doctor advises."""
    auths = world.write("home/.config/containers/auth.json", json.dumps({"auths": {"r.example.com": {"auth": "YW5uOnB3"}}}))
    told = world.run("tokenkeep", "doctor", code=1).out
    command = f"tokenkeep setup podman --yes && tokenkeep import --from docker {auths} --remove"
    has(told, f"hint: {command}\n")
    world.run("sh", "-c", command)
    assert "YW5uOnB3" not in world.read("home/.config/containers/auth.json")
    bare = {"XDG_RUNTIME_DIR": world.folder}
    same(world.run("skopeo", "login", "--get-login", "r.example.com", env=bare).out, "ann\n")
    same(setup(world, "podman", "--yes").out, "podman: is set up already\n")
    setup(world, "podman", "--undo", "--yes")
    same(os.listdir(world.path("home/.config/containers/registries.conf.d")), [])


def what_podmans_file_has_already_is_left_alone(world):
    path = "home/.config/containers/registries.conf.d/tokenkeep.conf"
    world.write(path, 'credential-helpers = ["pass"]\n')
    has(setup(world, "podman", "--yes", code=6).err, f"{world.path(path)} names helpers already")
    same(world.read(path), 'credential-helpers = ["pass"]\n')


def what_podmans_other_files_have_is_named(world):
    """The last file that names helpers counts: those of the system and of the user, and of each the parts after the main file."""
    folder = "home/.config/containers"
    main, part = world.path(f"{folder}/registries.conf"), world.path(f"{folder}/registries.conf.d/50.conf")
    world.write(f"{folder}/registries.conf", 'credential-helpers = ["pass"]\n')
    has(setup(world, "podman", "--yes").out, f"displaces the helper pass of {main}\n")
    setup(world, "podman", "--undo", "--yes")
    world.write(f"{folder}/registries.conf.d/50.conf", 'credential-helpers = ["secretservice", "containers-auth.json"]\n')
    told = setup(world, "podman", "--yes").out
    has(told, f"displaces the helper secretservice of {part}; its logins come over with: tokenkeep import --from secret-service\n")
    assert "pass" not in told, told
    setup(world, "podman", "--undo", "--yes")
    # The user's own file counts instead of that which the variable names.
    named = world.write("named.conf", 'credential-helpers = ["named"]\n')
    os.remove(part)
    has(setup(world, "podman", "--yes", env={"CONTAINERS_REGISTRIES_CONF": named}).out, f"displaces the helper named of {named}\n")
    # A file that is read later.
    ours = world.path(f"{folder}/registries.conf.d/tokenkeep.conf")
    later = world.write(f"{folder}/registries.conf.d/zz.conf", 'credential-helpers = ["pass"]\n')
    for _ in range(2):
        has(setup(world, "podman", "--yes", code=6).err, f"podman reads {later} after {ours}, and it names other helpers\n",
            'add "tokenkeep" in front of them yourself')
        setup(world, "podman", "--undo", "--yes")
    world.write(f"{folder}/registries.conf.d/zz.conf", 'credential-helpers = ["tokenkeep"]\n')
    same(setup(world, "podman", "--yes").out, "podman: is set up already\n")
    os.remove(later)
    world.write(f"{folder}/registries.conf", "# credential-helpers = []\n")
    auths = world.write("run/containers/auth.json", '{"credHelpers": {"r.example": "pass", "s.example": "tokenkeep"}}')
    has(setup(world, "podman", "--yes", env={"XDG_RUNTIME_DIR": world.path("run")}).out,
        f"the helper pass of r.example in {auths} is asked after it\n")


def podman_takes_the_helper_that_setup_takes_it_to_take(world):
    """The order of the files, by podman itself."""
    folder = "home/.config/containers"
    for name in ("first", "second"):
        program = world.write(f"bin/docker-credential-{name}", f'#!/bin/sh\necho \'{{"ServerURL":"r","Username":"{name}","Secret":"s"}}\'\n')
        os.chmod(program, 0o755)
    podman = ["podman", "--storage-driver=vfs", f"--root={world.path('storage')}", f"--runroot={world.path('run')}", "login",
              "--get-login", "r.example.com"]
    environment = {"PATH": f"{world.path('bin')}:{world.environment['PATH']}", "XDG_RUNTIME_DIR": world.folder}
    world.save("docker:r.example.com", "ours", "SECRET")
    world.write(f"{folder}/registries.conf", 'credential-helpers = ["first"]\n')
    same(world.run(*podman, env=environment).out, "first\n")
    setup(world, "podman", "--yes")
    same(world.run(*podman, env=environment).out, "ours\n")
    world.write(f"{folder}/registries.conf.d/zz.conf", 'credential-helpers = ["second"]\n')
    same(world.run(*podman, env=environment).out, "second\n")


def names_with_dots_spaces_and_quotes_can_be_pasted(world):
    """The commands of doctor and setup for users of clusters and for registries, whatever their names."""
    for name in ("prod.example", "arn:aws:eks:eu:1:cluster/a.b", "a b", "a'b", 'a"b', "a,b", "a\\b", "a$(b)"):
        world.write("home/.kube/config", json.dumps({
            "apiVersion": "v1", "kind": "Config", "users": [{"name": "other", "user": {}}, {"name": name, "user": {"token": "SECRET"}}]}))
        told = world.run("tokenkeep", "doctor", code=1).out
        (command,) = [line.strip()[6:] for line in told.splitlines() if "hint: " in line and "kubectl config" in line]
        world.run("bash", "-euo", "pipefail", "-c", command)
        same(world.load(f"kubernetes:{name}", ""), "SECRET")
        read = json.loads(world.run("kubectl", "config", "view", "--raw", "-o", "json").out)
        (user,) = [user["user"] for user in read["users"] if user["name"] == name]
        same((user.get("token"), user["exec"]["args"]), (None, [name]))


def a_registry_that_cargo_refuses_gets_no_command_of_cargos(world):
    path = world.write("home/.cargo/credentials.toml", '[registries."my.reg"]\ntoken = "OLD"\n')
    command = f"grep -n -F -e my.reg {path}"
    has(world.run("tokenkeep", "doctor", code=1).out, f"hint: tokenkeep setup cargo --yes && {command}\n")
    has(setup(world, "cargo", "--yes").out, f"keeps the plain token of my.reg, a name that cargo refuses: {command}\n")
    same(world.run("sh", "-c", command).out, '1:[registries."my.reg"]\n')


def the_command_that_moves_the_logins_of_a_displaced_helper_is_named(world):
    keyring = "; its logins come over with: tokenkeep import --from secret-service\n"
    for helper, command in (("libsecret", keyring), ("/usr/lib/git-core/git-credential-libsecret", keyring), ("manager", keyring),
                            ("cache", "\n"), ("store --file=x", "\n")):
        world.write(GIT[0], f"[credential]\n\thelper = {helper}\n")
        shown = helper.replace(" --file=x", " …")
        has(setup(world, "git", "--yes").out, f"displaces the helper {shown}{command}")
    for helper, command in (("secretservice", keyring), ("pass", "\n")):
        world.write(DOCKER[0], json.dumps({"credsStore": helper}))
        has(setup(world, "docker", "--yes").out, f"displaces the helper {helper}{command}")


def a_read_only_file_stays_as_it_is(world):
    texts = {GIT: "[user]\n", DOCKER: "{}", CARGO: "[net]\n"}
    for (path, tool), text in texts.items():
        world.write(path, text, 0o444)
        os.chmod(world.path(path), 0o444)
        before = files(world)
        has(setup(world, tool, "--yes", code=5).err, f"{world.path(path)} is read-only\nhint: chmod u+w {world.path(path)}, or ")
        same(files(world), before)
        # A link to it, as stow makes them.
        target = world.path(f"dotfiles-{tool}")
        os.rename(world.path(path), target)
        os.symlink(target, world.path(path))
        has(setup(world, tool, "--yes", code=5).err, f"is read-only, and is the link to {target}\nhint: chmod u+w {target}, or ")
        os.chmod(target, 0o644)
        setup(world, tool, "--yes")
        assert os.path.islink(world.path(path)) and stat.S_IMODE(os.stat(target).st_mode) == 0o644
        os.chmod(target, 0o444)
        has(setup(world, tool, "--undo", "--yes", code=5).err, "is read-only")
        os.chmod(target, 0o644)
        setup(world, tool, "--undo", "--yes")
        same(world.read(path), text)


def unprivileged(world):
    """Runs the world's commands as a user who may not write everywhere."""
    for folder, folders, names in os.walk(world.folder):
        for name in [".", *folders, *names]:
            os.chown(os.path.join(folder, name), 65534, 65534, follow_symlinks=False)
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def a_folder_that_cannot_be_written_has_nothing_new(world):
    for path, tool in (GIT, DOCKER, CARGO):
        world.write(path, "{}" if tool == "docker" else "# mine\n", 0o644)
    as_user = unprivileged(world)
    for path, tool in (GIT, DOCKER, CARGO):
        folder = os.path.dirname(world.path(path))
        os.chmod(folder, 0o555)
        before = files(world)
        told = world.run(*as_user, "tokenkeep", "setup", tool, "--yes", code=5).err
        has(told, f"{world.path(path)} cannot be written: Permission denied\nhint: change these lines with the program that manages")
        same(files(world), before)
        os.chmod(folder, 0o755)


def the_lines_for_a_file_of_root_are_shown(world):
    """As Home Manager makes them: a link into a store that nobody writes."""
    target = world.write("store/config", "[user]\n", 0o444)
    os.symlink(target, world.path(GIT[0]))
    as_user = unprivileged(world)
    for path in (target, os.path.dirname(target)):
        os.chown(path, 0, 0)
    os.chmod(os.path.dirname(target), 0o755)
    os.chmod(target, 0o444)
    told = world.run(*as_user, "tokenkeep", "setup", "git", "--yes", code=5)
    has(told.out, "    helper = tokenkeep\n")
    has(told.err, f"{world.path(GIT[0])} belongs to user 0\nhint: change these lines with the program that manages the file")
    same((world.read("store/config"), sorted(os.listdir(world.path("store")))), ("[user]\n", ["config"]))


def a_setup_that_fails_leaves_no_note(world):
    """docker's file cannot be written, because another setup writes it."""
    world.write(DOCKER[0], '{"credsStore":"pass"}')
    other = world.write("home/.docker/.config.json.tokenkeep", "")
    with open(other, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = files(world)
        has(setup(world, "docker", "--yes", code=6).err, "another setup writes ")
        same(files(world), before)


a_folder_that_cannot_be_written_has_nothing_new.as_root = True
the_lines_for_a_file_of_root_are_shown.as_root = True
a_folder_that_cannot_be_written_has_nothing_new.needs = ["setpriv", "docker", "cargo"]
the_lines_for_a_file_of_root_are_shown.needs = ["setpriv"]
podman_takes_the_helper_that_setup_takes_it_to_take.needs = ["podman"]
names_with_dots_spaces_and_quotes_can_be_pasted.needs = ["kubectl"]
podman_and_skopeo_find_what_their_file_had.needs = ["skopeo"]
CASES = cases(globals(), unprivileged)
