"""The package agrees with the C headers, and is importable without the library."""
import ctypes
import os
import pickle
import re
import subprocess
import sys
import tempfile
import unittest

import tokenkeep
from case import ROOT
from tokenkeep import _constants, _errors, _library

# Compares what ctypes computed with what the C compiler does.
STRUCTURES = {
    "tokenkeep_attribute": _library.Attribute, "tokenkeep_prompt": _library.PromptStructure,
    "tokenkeep_open_options": _library.OpenOptions, "tokenkeep_save_options": _library.SaveOptions,
    "tokenkeep_session_options": _library.SessionOptions, "tokenkeep_login_options": _library.LoginOptions,
}
# Exceptions have the names of the statuses, the version is a text, and an item has all its attributes.
NOT_CALLED = {"tokenkeep_status_name", "tokenkeep_version_number", "tokenkeep_item_attribute"}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


class PackageTests(unittest.TestCase):
    def test_every_status_has_an_exception_of_its_name(self):
        statuses = re.findall(r"^#define TOKENKEEP_(\w+) (\d+)$", read("include/tokenkeep/types.h").split("/* Limits")[0], re.M)
        self.assertEqual(len(statuses), 19)
        for name, number in statuses[1:]:
            word = name if name == "IO" else "".join(part.capitalize() for part in name.split("_"))
            self.assertIs(_errors.BY_STATUS[int(number)], getattr(tokenkeep, word))

    def test_every_number_is_that_of_the_headers(self):
        numbers = dict(re.findall(r"^#define TOKENKEEP_(\w+) (\d+)$", read("Tests/ABI/constants.txt"), re.M))
        for kind, prefix in (
                (_constants.Level, ""), (_constants.SaveFlag, ""), (_constants.PromptKind, "PROMPT_"), (_constants.Axis, "AXIS_"),
                (_constants.Strength, "PROTECTION_"), (_constants.EventKind, "EVENT_"), (_constants.SessionKind, "SESSION_"),
                (_constants.State, "STATE_"), (_constants.Reason, "REASON_"), (_constants.Rotation, "ROTATION_"),
                (_constants.Purpose, "PURPOSE_"), (_constants.Result, "RESULT_"), (_constants.Flow, "LOGIN_")):
            members = {f"{prefix}{member.name}": str(int(member)) for member in kind if member.name != "DEFAULT"}
            self.assertEqual(members, {name: numbers.get(name) for name in members})
            if prefix not in ("", "SESSION_", "LOGIN_"):
                self.assertEqual(set(members), {name for name in numbers if name.startswith(prefix)})

    def test_every_function_of_the_library_is_declared(self):
        exported = set(re.findall(r"^(tokenkeep_\w+) ", read("Tests/ABI/symbols.txt"), re.M)) - NOT_CALLED
        self.assertEqual({f"tokenkeep_{name}" for name in [*_library.CALLS, *_library.GETTERS]}, exported)

    def test_structures_lie_as_the_c_compiler_lays_them(self):
        lines, expected = [], []
        for name, structure in STRUCTURES.items():
            lines.append(f'printf("%zu\\n", sizeof({name}));')
            expected.append(ctypes.sizeof(structure))
            for field, _ in structure._fields_:
                lines.append(f'printf("%zu\\n", offsetof({name}, {field}));')
                expected.append(getattr(structure, field).offset)
        with tempfile.TemporaryDirectory() as directory:
            with open(directory + "/sizes.c", "w", encoding="utf-8") as file:
                file.write("#include <stdio.h>\n#include <tokenkeep.h>\nint main(void) {" + "\n".join(lines) + "return 0; }\n")
            subprocess.run(
                ["gcc", "-I", os.path.join(ROOT, "include"), directory + "/sizes.c", "-o", directory + "/sizes"], check=True)
            printed = subprocess.run([directory + "/sizes"], check=True, capture_output=True, text=True).stdout
        self.assertEqual([int(line) for line in printed.split()], expected)

    def test_the_versions_agree(self):
        version = re.search(r'TOKENKEEP_VERSION +"(.*)"', read("include/tokenkeep/version.h"))[1]
        self.assertEqual(re.search(r'^version = "(.*)"$', read("python/pyproject.toml"), re.M)[1], version)
        self.assertEqual(tokenkeep.library_version(), version)
        self.assertEqual(read("python/LICENSE"), read("LICENSE"))

    def test_all_names_can_be_imported(self):
        for name in tokenkeep.__all__:
            self.assertIsNotNone(getattr(tokenkeep, name))
        with self.assertRaises(AttributeError):
            tokenkeep.Shop  # pylint: disable=pointless-statement

    def test_exceptions_survive_pickling(self):
        error = pickle.loads(pickle.dumps(tokenkeep.Locked("the vault is locked", "vault")))
        self.assertEqual((type(error), str(error), error.module, error.status), (tokenkeep.Locked, "the vault is locked", "vault", 2))

    def test_a_missing_library_is_said_at_import(self):
        environment = {**os.environ, "LD_LIBRARY_PATH": ""}
        for line, error in (
                ("from tokenkeep import Store", "ImportError: TokenKeep's library is missing (libtokenkeep.so.0: cannot open "
                 "shared object file: No such file or directory): install TokenKeep"),
                ("from tokenkeep import Error; import tokenkeep.keyring", ""),
                ("import keyring; keyring.get_keyring()", "")):
            ended = subprocess.run([sys.executable, "-c", line], env=environment, capture_output=True, text=True, check=False)
            self.assertEqual((ended.stderr.splitlines() or [""])[-1], error)
