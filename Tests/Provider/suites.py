"""The test suites of Python's clients, against the provider and gnome-keyring: a part of `make verify-provider`.

PyPI has the suites; without PyPI this fails, as the tests of the Python package do.
"""
import glob
import os
import subprocess
import tempfile
import unittest

from compared import Compared
from patience import PATIENCE

PACKAGES = ["SecretStorage==3.5.0", "keyring==25.7.0", "pytest"]
BACKEND = """
from keyring.backends import SecretService
from keyring.testing.backend import BackendBasicTests


class TestDefault(BackendBasicTests):
    def init_keyring(self):
        return SecretService.Keyring()


class TestSession(BackendBasicTests):
    def init_keyring(self):
        keyring = SecretService.Keyring()
        keyring.preferred_collection = "/org/freedesktop/secrets/collection/session"
        return keyring
"""


class Suites(Compared):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.python = os.path.join(cls.folder, "venv/bin/python")
        pip = [cls.python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        for command in (["/usr/bin/python3", "-m", "venv", "--system-site-packages", os.path.join(cls.folder, "venv")],
                        [*pip, "install", *PACKAGES],
                        # The wheel has no tests.
                        [*pip, "download", "--no-deps", "--no-binary=:all:", "--dest", cls.folder, PACKAGES[0]],
                        ["sh", "-c", f"tar xzf {cls.folder}/*.tar.gz -C {cls.folder}"]):
            environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PYTHONPATH")}
            subprocess.run(command, check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL, env=environment)

    def passes(self, *command):
        for world in (self.provider(), self.gnome_keyring()):
            done = world.run(*command, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr + world.logged() if os.path.exists(world.log) else "")

    def test_the_suite_of_secretstorage(self):
        (tests,) = glob.glob(f"{self.folder}/secretstorage-*/tests")
        self.passes(self.python, os.path.join(tests, "run_tests.py"))

    def test_the_suite_of_pythons_keyring(self):
        path = os.path.join(self.folder, "test_backend.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(BACKEND)
        self.passes(self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", path)


if __name__ == "__main__":
    unittest.main()
