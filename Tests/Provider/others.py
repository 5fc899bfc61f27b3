"""Clients that the distribution builds from source: Qt keychain and Rust's crate secret-service, which speaks by zbus. A part of
`make verify-provider`.

Installs their packages by apt if root runs it without them. gnome-keyring runs beside the provider, and answers alike but for
what a test names.
"""
import os
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock

from compared import Compared

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ["qtbase5-dev", "qtkeychain-qt5-dev", "librust-secret-service-dev", "g++", "cargo"]
CARGO = """[package]
name = "client"
version = "0.1.0"
edition = "2021"
[dependencies]
secret-service = "2"
"""
REGISTRY = """[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "/usr/share/cargo/registry"
"""


class Others(Compared):
    @classmethod
    def setUpClass(cls):
        files = ["/usr/include/qt5keychain/keychain.h", "/usr/share/cargo/registry/secret-service-2.0.1"]
        if not (all(os.path.exists(file) for file in files) and os.access("/usr/bin/cargo", os.X_OK)):
            if os.geteuid() != 0:
                raise unittest.SkipTest(f"not all of {', '.join(PACKAGES)} are installed")
            subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES], check=True,
                           env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, stdout=subprocess.DEVNULL)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        # Compilers live by the real clock.
        cls.environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}

    def build(self, *command, **options):
        # A compiler on a busy machine needs the time it needs.
        subprocess.run(command, check=True, env=self.environment, **options)

    def test_qt_keychain(self):
        program = os.path.join(self.folder, "qtkeychain")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "Qt5Core"], stdout=subprocess.PIPE, text=True, check=True)
        self.build("g++", "-fPIC", "-o", program, os.path.join(HERE, "qtkeychain.cpp"), *flags.stdout.split(), "-lqt5keychain")
        self.assertEqual(self.compare(program), "write 0\nread 0 6669727374\nwrite 0\nread 0 61000aff\ndelete 0\nread 1\n")

    def test_secret_service_of_rust(self):
        crate = os.path.join(self.folder, "crate")
        os.makedirs(os.path.join(crate, "src"))
        os.makedirs(os.path.join(crate, ".cargo"))
        for name, text in ((".cargo/config.toml", REGISTRY), ("Cargo.toml", CARGO)):
            with open(os.path.join(crate, name), "w", encoding="utf-8") as file:
                file.write(text)
        shutil.copy(os.path.join(HERE, "secret_service.rs"), os.path.join(crate, "src/main.rs"))
        # A user's own configuration of cargo must not take effect.
        with unittest.mock.patch.dict(self.environment, HOME=self.folder, CARGO_HOME=os.path.join(self.folder, "cargo"),
                                      PATH="/usr/bin:/bin"):
            self.build("cargo", "build", "--offline", "--quiet", cwd=crate)
        program = os.path.join(crate, "target/debug/client")
        expected = ("Login false\n[115, 101, 99, 111, 110, 100, 10, 0] label text/plain\n"
                    '[("a", "1"), ("b", "2")]\n1 1\n0\n') * 2
        self.assertEqual(self.compare(program), expected)
        # gnome-keyring forgets the parameters of content types, and asks before it makes a collection. The crate sends no label for it.
        world = self.provider()
        self.assertEqual(world.run(program, "more").stdout, "text/plain; charset=utf8\ncollection\n")


if __name__ == "__main__":
    unittest.main()
