"""git's helper against git http-backend behind a password: clone, push, a password that changed, accounts, sessions."""
import os
import subprocess

from servers import git_server
from world import cases, has, same


def serve(world):
    """The settings, and a server with one repository."""
    world.write("home/.gitconfig", "[credential]\n\thelper = tokenkeep\n[user]\n\tname = ann\n\temail = ann@example.com\n")
    world.environment["GIT_TERMINAL_PROMPT"] = "0"
    served = world.path("served")
    world.run("git", "init", "-q", "-b", "main", "--bare", f"{served}/repo.git")
    world.run("git", "-C", f"{served}/repo.git", "config", "http.receivepack", "true")
    return git_server(served)


def service(server):
    return f"git:{server.address}"


def clone_and_push_by_a_kept_password(world):
    with serve(world) as server:
        server.passwords["ann"] = "s3cret"
        world.save(service(server), "ann", "s3cret")
        world.run("git", "clone", "-q", f"{server.address}/repo.git", "copy")
        world.run("git", "-C", "copy", "commit", "-q", "--allow-empty", "-m", "first")
        world.run("git", "-C", "copy", "push", "-q", "origin", "HEAD:main")
        has(world.run("git", "-C", "served/repo.git", "log", "--format=%s", "main").out, "first")
        same(server.refused, [])
        # git stored what it was given: nothing was written.
        same(world.services(), {(service(server), "ann")})


def a_refused_password_is_erased_and_the_next_one_kept(world):
    with serve(world) as server:
        server.passwords["ann"] = "new"
        world.save(service(server), "ann", "old")
        world.run("git", "ls-remote", f"{server.address}/repo.git", code=128)
        same(world.services(), set())
        address = server.address.replace("//", "//ann:new@")
        world.run("git", "ls-remote", f"{address}/repo.git")
        same(world.load(service(server), "ann"), "new")


def a_password_that_another_process_renewed_stays(world):
    with serve(world) as server:
        server.passwords["ann"] = "new"
        world.save(service(server), "ann", "new")
        # git is between its answer and its reject: another process has renewed the password.
        text = f"protocol=http\nhost=127.0.0.1:{server.port}\nusername=ann\npassword=old\n\n"
        world.run("git", "credential", "reject", input=text)
        world.run("git", "ls-remote", f"{server.address}/repo.git")


def two_accounts_of_a_host(world):
    with serve(world) as server:
        server.passwords.update(ann="a", bob="b")
        world.save(service(server), "ann", "a")
        world.save(service(server), "bob", "b")
        for name in ("ann", "bob"):
            world.run("git", "ls-remote", f"{server.address.replace('//', f'//{name}@')}/repo.git")
        same(world.load(service(server), "ann") + world.load(service(server), "bob"), "ab")


def a_session_is_renewed_and_its_token_answered(world):
    with serve(world) as server:
        world.write("home/.config/tokenkeep/providers.d/forge.conf",
                    f"token_endpoint = {server.address}/token\nclient_id = app\nrotation = strict\n")
        begun = '{"access_token":"access-1","token_type":"Bearer","expires_in":0,"refresh_token":"refresh-1"}'
        world.run("tokenkeep", "session", "begin", service(server), "ann", "--provider", "forge", input=begun)
        world.run("git", "ls-remote", f"{server.address}/repo.git")
        same(server.requests[0], "renewed")
        same(server.refused, [])
        # A refusal renews the token; the session stays.
        server.passwords["ann"] = "access-other"
        world.run("git", "ls-remote", f"{server.address}/repo.git", code=128)
        same(server.requests.count("renewed"), 2)
        world.run("git", "ls-remote", f"{server.address}/repo.git")
        refused = world.run("git-credential-tokenkeep", "store", code=6,
                            input=f"protocol=http\nhost=127.0.0.1:{server.port}\nusername=ann\npassword=other\n")
        has(refused.err, f"{service(server)} (ann) has a session, which stays")


def eight_gits_at_once(world):
    with serve(world) as server:
        server.passwords["ann"] = "s3cret"
        address = server.address.replace("//", "//ann:s3cret@")
        gits = [subprocess.Popen(["git", "ls-remote", f"{address}/repo.git"], env=world.environment, cwd=world.folder,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(8)]
        told = [git.communicate()[1] for git in gits]
        same([git.returncode for git in gits], [0] * 8)
        same([text for text in told if text], [])
        same(world.load(service(server), "ann"), "s3cret")


def maintenance_fetches_without_a_word(world):
    with serve(world) as server:
        server.passwords["ann"] = "s3cret"
        world.save(service(server), "ann", "s3cret")
        world.run("git", "clone", "-q", f"{server.address}/repo.git", "copy")
        quiet = ["git", "-c", "credential.interactive=false", "-c", "core.askPass=true", "-C", "copy", "maintenance",
                 "run", "--task=prefetch", "--quiet"]
        told = world.run(*quiet)
        same(told.out + told.err, "")
        world.lock()
        told = world.run(*quiet, code=None)
        assert "tokenkeep" not in told.out + told.err, told.err
        assert os.path.isdir(world.vault)


CASES = cases(globals(), serve, service, git_server, has, same)
