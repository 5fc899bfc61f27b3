"""Credential helpers on libsecret, which also run against gnome-keyring."""
import tempfile
import unittest

from compared import Compared
from real_keyring import git_libsecret

GIT = """
ask() { printf 'protocol=https\\nhost=example.com\\nusername=ann\\n%s\\n' "$2" | "$HELPER" "$1"; }
ask get; ask store 'password=first'; ask get; ask store 'password=second'; ask get | sort; ask erase; ask get
printf 'protocol=https\\nhost=example.com\\npath=a/b\\nusername=bob\\npassword=p\\n\\n' | "$HELPER" store
printf 'protocol=https\\nhost=example.com\\n\\n' | "$HELPER" get | sort
"""
DOCKER = """
helper=docker-credential-secretservice
printf '{"ServerURL":"https://index.docker.io/v1/","Username":"ann","Secret":"p\\\\nw"}' | $helper store
printf '{"ServerURL":"registry.example.com:5000","Username":"<token>","Secret":"identity"}' | $helper store
printf 'https://index.docker.io/v1/' | $helper get; $helper list; printf 'https://index.docker.io/v1/' | $helper erase
printf 'https://index.docker.io/v1/' | $helper get; echo; $helper list
"""


class Helpers(Compared):
    def test_gits_helper_on_libsecret(self):
        with tempfile.TemporaryDirectory() as folder:
            helper = git_libsecret(folder)
            found = self.compare("sh", "-c", GIT, environment={"HELPER": helper})
        self.assertIn("password=second", found)

    def test_dockers_helper(self):
        self.assertIn('"Secret":"p\\nw"', self.compare("sh", "-c", DOCKER))


if __name__ == "__main__":
    unittest.main()
