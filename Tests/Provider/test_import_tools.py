"""`tokenkeep import --from secret-service`: what the keyring's helpers of git, docker and cargo stored, for ours."""
import subprocess
import unittest

from client import ITEM, LOGIN, ROOT, Client
from odd_keyring import Item, Keyring
from real_keyring import WithKeyring, git_libsecret

GIT = {"xdg:schema": "org.git.Password", "protocol": "https", "server": "git.example", "user": "ann"}
DOCKER = "https://index.docker.io/v1/"


class ToolImport(WithKeyring):
    def command(self, *arguments, code=0):
        done = self.world.tokenkeep("import", "--from", "secret-service", *arguments, check=False)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.assertNotIn("sesame", done.stderr + done.stdout)
        return done

    def git(self, helper, operation, text, **environment):
        return self.world.run(helper, operation, input=text, environment=environment).stdout

    def docker(self, helper, operation, text=""):
        return self.world.run(helper, operation, input=text, check=False).stdout


class RealTools(ToolImport):
    """With gnome-keyring and the helpers that people use."""

    def setUp(self):
        super().setUp()
        self.gnome_keyring()
        self.libsecret = git_libsecret(self.world.home)

    def sign_in(self):
        store = "protocol=https\nhost={}\nusername={}\npassword={}\n"
        for values in (("git.example", "ann", "sesame1"), ("git.example:8443", "bob", "sesame 2"), ("git.example", "carl", "sesame3")):
            self.git(self.libsecret, "store", store.format(*values))
        for server, name, secret in ((DOCKER, "ann", "sesame4"), ("registry.example:5000", "<token>", "sesame5")):
            self.docker("docker-credential-secretservice", "store", f'{{"ServerURL":"{server}","Username":"{name}","Secret":"{secret}"}}')

    def keyring_of_tools(self):
        answer = [self.git(self.libsecret, "get", f"protocol=https\nhost={host}\n\n") for host in ("git.example", "git.example:8443")]
        return answer + [self.docker("docker-credential-secretservice", "list")]

    def test_our_helpers_find_what_theirs_stored(self):
        self.sign_in()
        # The keyring stays the first module of the stack.
        self.assertEqual(self.git("git-credential-tokenkeep", "get", "protocol=https\nhost=git.example\nusername=ann\n\n"), "")
        self.assertEqual(self.command("--dry-run").stdout, "would import 5, already there 0, kept 0, not readable 0\n")
        self.assertEqual(self.command().stdout, "imported 5, already there 0, kept 0, not readable 0\n")
        self.assertEqual(self.command().stdout, "imported 0, already there 5, kept 0, not readable 0\n")
        for request, answer in (
                ("host=git.example\nusername=ann", "username=ann\npassword=sesame1\n"),
                ("host=git.example:8443", "username=bob\npassword=sesame 2\n"),
                ("host=git.example\nusername=carl", "username=carl\npassword=sesame3\n")):
            self.assertEqual(self.git("git-credential-tokenkeep", "get", f"protocol=https\n{request}\n\n"), answer)
        self.assertEqual(self.docker("docker-credential-tokenkeep", "get", DOCKER),
                         f'{{"ServerURL":"{DOCKER}","Username":"ann","Secret":"sesame4"}}\n')
        self.assertIn('"registry.example:5000":"<token>"', self.docker("docker-credential-tokenkeep", "list"))

    def test_remove_takes_the_tools_items_alone(self):
        client = Client(self.world.address)
        self.addCleanup(client.close)
        client.create({"service": "gh:github.com", "username": "ann"}, b"sesame6")
        client.create({"application": "chromium"}, b"sesame7")
        self.sign_in()
        self.world.tokenkeep("save", "--stack", "any required vault", "git:https://git.example", "carl", input="another")
        done = self.command("--remove")
        self.assertEqual(done.stdout, "imported 5, already there 0, kept 1, not readable 0, "
                                      "left out 1, which --verbatim imports, removed 4\n")
        self.assertIn("git:https://git.example (carl) is there with another secret (to replace it: --replace)", done.stderr)
        found = self.keyring_of_tools()
        self.assertEqual(found[1:], ["", "{}\n"] if found[2].endswith("\n") else ["", "{}"])
        self.assertIn("username=carl", found[0])
        self.assertEqual(client.value(client.search({"service": "gh:github.com"})[0][0]), b"sesame6")
        self.assertEqual(self.git("git-credential-tokenkeep", "get", "protocol=https\nhost=git.example\nusername=ann\n\n"),
                         "username=ann\npassword=sesame1\n")
        self.assertIn("--verbatim excludes --remove: other programs find their items in the keyring", self.world.tokenkeep(
            "import", "--from", "secret-service", "--verbatim", "--remove", check=False).stderr)

    def test_a_locked_keyring_is_opened_by_the_command_that_the_error_names(self):
        self.sign_in()
        self.locked_keyring()
        done = self.command(code=3)
        self.assertIn("the collection Login is locked (unlock the keyring (gnome-keyring: tokenkeep unlock --keyring), then import again", done.stderr)
        self.world.tokenkeep("unlock", "--keyring", "--stdin", input="pw\n")
        self.assertEqual(self.command().stdout, "imported 5, already there 0, kept 0, not readable 0\n")


class OddTools(ToolImport):
    """Items that no real program here stores."""

    def keyring(self, *items):
        keyring = Keyring(self.world.address, {LOGIN: ("Login", items)}, {"default": LOGIN})
        self.addCleanup(keyring.close)
        return keyring

    def load(self, *words):
        return self.world.tokenkeep("load", "--stack", "any required vault", *words, check=False).stdout

    def test_an_expiry_and_a_refresh_token_come_along(self):
        self.keyring(Item(GIT, b"sesame\npassword_expiry_utc=4102444800\noauth_refresh_token=sesame-refresh\nunknown=1"))
        self.assertEqual(self.command().stdout, "imported 1, already there 0, kept 0, not readable 0\n")
        self.assertEqual(self.command().stdout, "imported 0, already there 1, kept 0, not readable 0\n")
        answer = self.world.run("git-credential-tokenkeep", "--stack", "any required vault", "get",
                                input="protocol=https\nhost=git.example\n\n", check=False)
        self.assertEqual(answer.stdout, "username=ann\npassword=sesame\npassword_expiry_utc=4102444800\noauth_refresh_token=sesame-refresh\n")

    def test_each_programs_item_gets_its_name(self):
        self.keyring(
            Item({**GIT, "object": "group/repo.git", "port": "8443"}, b"sesame1"),
            Item({"xdg:schema": "org.gnome.keyring.NetworkPassword", "protocol": "smb", "server": "nas", "user": "ann"}, b"sesame"),
            Item({"xdg:schema": "com.microsoft.GitCredentialManager", "service": "git:https://hub.example", "account": "ann"}, b"sesame2"),
            Item({"xdg:schema": "org.rust-lang.cargo.registry", "url": "sparse+https://crates.example/"}, b"sesame3"),
            Item({"xdg:schema": "io.docker.Credentials", "server": "r.example", "username": "ann", "docker_cli": "1",
                  "label": "Docker Credentials"}, b"sesame4\nwith a line"))
        done = self.command()
        self.assertEqual(done.stdout, "imported 4, already there 0, kept 0, not readable 0, left out 1, which --verbatim imports\n")
        self.assertIn("is for one path, and stays in the keyring: git asks for it after git config --global "
                      "credential.https://git.example:8443.useHttpPath true", done.stderr)
        for name, secret in (("git:https://git.example:8443/group/repo.git ann", "sesame1"), ("git:https://hub.example ann", "sesame2"),
                             ("docker:r.example ann", "sesame4\nwith a line")):
            self.assertEqual(self.load(*name.split()), secret)
        self.assertEqual(self.load("cargo:sparse+https://crates.example/", ""), "sesame3")

    def test_the_newest_of_one_name_is_imported(self):
        old, new = Item(GIT, b"sesame-old"), Item({**GIT, "extra": "1"}, b"sesame-new")
        new.modified = 2
        self.keyring(new, old)
        done = self.command("--remove")
        self.assertEqual(done.stdout, "imported 1, already there 0, kept 1, not readable 0, removed 0\n")
        self.assertIn("a newer item of the keyring has the same service and username", done.stderr)
        # The newest stays, too: else the next import would take the older one for the newest.
        self.assertEqual(self.command("--replace", "--remove").stdout,
                         "imported 0, already there 1, kept 1, not readable 0, removed 0\n")
        self.assertEqual(self.load("git:https://git.example", "ann"), "sesame-new")

    def test_the_next_is_imported_if_the_newest_cannot_be(self):
        old, new = Item(GIT, b"sesame-old"), Item({**GIT, "extra": "1"}, b"ses\0ame")
        new.modified = 2
        self.keyring(new, old)
        self.assertEqual(self.command(code=7).stdout, "imported 1, already there 0, kept 0, not readable 1\n")
        self.assertEqual(self.load("git:https://git.example", "ann"), "sesame-old")

    def test_services_that_no_helper_looks_up_are_left_out(self):
        manager = {"xdg:schema": "com.microsoft.GitCredentialManager", "account": "oauth2"}
        self.keyring(*(Item({**manager, "service": f"git:https://hub.example{end}"}, b"sesame") for end in ("/refresh_token", "/a%20b", "/")))
        self.assertEqual(self.command("--remove").stdout,
                         "imported 0, already there 0, kept 0, not readable 0, left out 3, which --verbatim imports, removed 0\n")

    def test_nothing_is_imported_over_our_own_item(self):
        self.keyring(Item(GIT, b"sesame"), Item(
            {"xdg:schema": "org.tokenkeep.Item", "service": "git:https://git.example", "username": "ann", "tokenkeep:namespace": ""},
            b"sesame-own"))
        self.assertIn("the keyring has TokenKeep's own item git:https://git.example (ann)", self.command("--remove").stderr)
        self.assertEqual(self.load("git:https://git.example", "ann"), "")

    def test_an_item_with_further_lines_stays(self):
        keyring = self.keyring(Item(GIT, b"sesame\npassword_expiry_utc=soon"))
        done = self.command("--remove")
        self.assertEqual(done.stdout, "imported 1, already there 0, kept 0, not readable 0, removed 0\n")
        self.assertIn("stays in the keyring: it has lines that no item of TokenKeep's can have", done.stderr)
        self.assertEqual(len(keyring.items), 1)

    def test_an_expiry_that_the_vault_lacks_is_saved(self):
        self.world.tokenkeep("save", "--stack", "any required vault", "git:https://git.example", "ann", input="sesame")
        self.keyring(Item(GIT, b"sesame\npassword_expiry_utc=4102444800"))
        self.assertEqual(self.command("--remove").stdout, "imported 1, already there 0, kept 0, not readable 0, removed 1\n")
        answer = self.world.run("git-credential-tokenkeep", "--stack", "any required vault", "get",
                                input="protocol=https\nhost=git.example\n\n", check=False)
        self.assertIn("password_expiry_utc=4102444800", answer.stdout)

    def test_what_the_protocol_cannot_carry_is_named(self):
        self.keyring(Item(GIT, b"ses\0ame"), Item({"xdg:schema": "io.docker.Credentials", "server": "r", "username": "u"}, b"\xff"),
                     Item({**GIT, "server": "host/other"}, b"sesame"), Item({**GIT, "server": "[fe80:"}, b"sesame"))
        done = self.command("--remove", code=7)
        self.assertEqual(done.stdout, "imported 0, already there 0, kept 0, not readable 2, left out 2, which --verbatim imports, removed 0\n")
        self.assertIn("the secret is not one line of text, which the tool's protocol needs", done.stderr)
        self.assertIn("the secret is not UTF-8, and docker's protocol is JSON", done.stderr)

    def test_an_item_that_the_keyring_asks_about_stays(self):
        keyring = self.keyring(Item(GIT, b"sesame"))
        keyring.asks = True
        done = self.command("--remove", code=7)
        self.assertEqual(done.stdout, "imported 1, already there 0, kept 0, not readable 0, removed 0\n")
        self.assertIn("stays in the keyring: the keyring asks its user before it deletes the item", done.stderr)
        self.assertIn("some items stay in the keyring", done.stderr)
        self.assertEqual(keyring.dismissed, [f"{ROOT}/prompt/1"])
        keyring.asks = False
        self.assertEqual(self.command("--remove").stdout, "imported 0, already there 1, kept 0, not readable 0, removed 1\n")
        self.assertEqual(keyring.items, {})

    def test_an_item_that_changes_meanwhile_stays(self):
        item = Item(GIT, b"sesame")
        keyring = self.keyring(item)
        # Given out once, and then changed by another program.
        item.next = b"sesame-renewed"
        done = self.command("--remove", code=7)
        self.assertIn("stays in the keyring: it has another secret, expiry or other attributes by now", done.stderr)
        self.assertEqual(len(keyring.items), 1)

    def test_every_locked_collection_is_named(self):
        keyring = Keyring(self.world.address, {f"{ROOT}/collection/{name}": (name, []) for name in ("Work", "Open", "Home")})
        self.addCleanup(keyring.close)
        keyring.locked = {f"{ROOT}/collection/Work", f"{ROOT}/collection/Home"}
        self.assertIn("the collections Work, Home are locked (unlock the keyring", self.command(code=3).stderr)


if __name__ == "__main__":
    unittest.main()
