"""What an import of another program's file leaves in the file, and which account a helper answers afterwards."""
import fcntl
import os
import subprocess

from world import cases, has, same

FILE = "home/.git-credentials"
# A gpg that does not encrypt, and during which another program changes the entry before.
GPG = """#!/bin/sh
for file; do :; done
case $file in
*/b.gpg) printf new >"$(dirname "$file")/a.gpg" ;;
esac
exec cat "$file"
"""


def filled(world, host):
    """The account and the password that git gets for a host."""
    return world.run("git-credential-tokenkeep", "get", input=f"protocol=https\nhost={host}\n").out


def import_file(world, *options, **more):
    return world.run("tokenkeep", "import", "--from", "git-credentials", world.path(FILE), *options, **more)


def the_first_line_of_a_host_stays_the_account_that_git_uses(world):
    world.write(FILE, "https://zed:p1@h.example\nhttps://ann:p2@h.example\nhttps://bob:p3@h.example\n")
    has(import_file(world, "--remove").out, "imported 3", "removed 3")
    has(filled(world, "h.example"), "username=zed\npassword=p1\n")
    same(world.read(FILE), "")


def a_line_that_hides_another_password_stays_with_it(world):
    text = "https://ann:right@h.example\nhttps://ann:old@h.example\n"
    world.write(FILE, text + "https://bob:p@h.example\n")
    told = import_file(world, "--remove")
    has(told.err, "line 1 stays in the source: a later entry has the same name and another secret")
    same(world.read(FILE), text)
    has(filled(world, "h.example\nusername=ann"), "password=right\n")


def an_entry_of_pass_that_was_changed_meanwhile_stays(world):
    world.write("fake/gpg", GPG, 0o755)
    for name in ("a", "b", "c"):
        world.write(f"home/.password-store/web/{name}.gpg", f"old-{name}\n")
    path = f"{world.path('fake')}:{world.environment['PATH']}"
    told = world.run("tokenkeep", "import", "--from", "pass", world.path("home/.password-store"), "--remove", code=6,
                     env={"PATH": path})
    has(told.err, "a.gpg was changed while its entries were imported")
    same(os.listdir(world.path("home/.password-store/web")), ["a.gpg"])
    same(world.read("home/.password-store/web/a.gpg"), "new")


def an_import_that_removes_entries_keeps_its_file(world):
    world.write(FILE, "https://ann:p@h.example\n")
    with open(world.write("home/..git-credentials.tokenkeep", "its"), "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        has(import_file(world, "--remove", code=6).err, "another import removes entries of")
    import_file(world, "--remove")
    same((world.read(FILE), sorted(os.listdir(world.path("home")))), ("", [".config", ".git-credentials"]))


def two_imports_at_once_remove_each_entry_once(world):
    for number in range(3):
        world.write(FILE, "".join(f"https://u{line}:p@h{number}.example\n" for line in range(40)))
        words = ["tokenkeep", "import", "--from", "git-credentials", world.path(FILE), "--remove"]
        running = [subprocess.Popen(words, env=world.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                   for _ in range(2)]
        told = [one.communicate() for one in running]
        # The slower of the two may have seen the file change under it.
        assert {one.returncode for one in running} <= {0, 6}, told
        assert not any("refused" in out for out, _ in told), told
        import_file(world, "--remove", code=None)
        same(world.read(FILE), "")
        has(filled(world, f"h{number}.example"), "username=u0\n")


CASES = cases(globals(), filled, has, import_file, same)
