#!/usr/bin/python3
"""The attacks on vaults that the second writer makes, before the second reader. Prints `N passed, N failed`.

It shows that each attack is what it should be: the reader refuses the vault because of it, or he gains nothing by it. The
same attacks meet the real program in Tests/Faults/attacker.py.
"""

import itertools
import os
import sys
import tempfile
from dataclasses import replace

from attack import Attacker
from cases_common import ANNA, BERT, PASSWORD, era_files, in_directory, path_of
from record_writer import ItemPlan, RecordPlan
from vault_primitives import VaultError
from vault_reader import VaultReader
from vault_writer import VaultPlan
from vector_file import Vector, unpack

LATER = ItemPlan("bank.example", "anna", b"a later token of anna")
TESTS = []


def test(function):
    TESTS.append(function)
    return function


class World:
    """A vault with a password, and its attacker."""

    def __init__(self, directory):
        self.directory, self.plan = directory, VaultPlan("attacked")
        slots = [self.plan.password_slot(PASSWORD)]
        files = in_directory(era_files(self.plan, slots, [ANNA, BERT]))
        unpack(Vector("", "OK", "", ANNA.names(), files), directory)
        self.attacker = Attacker(directory)

    def status(self, item=ANNA, password=PASSWORD):
        try:
            return "OK" if VaultReader(self.directory, password).load(*item.names()).secret == item.secret else "OTHER"
        except VaultError as error:
            return error.status

    def save(self, item, plan):
        """What a program that takes the keys of `plan` for right would write."""
        self.attacker.write(path_of(item, plan), RecordPlan(plan, item).data())

    def expect(self, *statuses, item=ANNA, password=PASSWORD):
        status = self.status(item, password)
        assert status in statuses, f"{status}, not one of {statuses}"

    def expect_refused(self):
        for item, password in itertools.product((ANNA, BERT, LATER), (PASSWORD, None)):
            self.expect("CORRUPT", item=item, password=password)

    def expect_hidden(self):
        assert not {ANNA.secret, BERT.secret, LATER.secret} & self.attacker.readable()


@test
def he_reads_nothing_of_a_vault_with_a_password(world):
    world.expect("OK")
    world.save(LATER, world.plan)
    world.expect_hidden()


@test
def he_reads_what_is_saved_under_keys_of_his(world):
    world.save(LATER, world.attacker.plan)
    world.attacker.replace_header()
    assert LATER.secret in world.attacker.readable()


@test
def he_reads_all_of_a_vault_without_a_password(world):
    world.attacker.put_back(in_directory(era_files(world.plan, items=[ANNA, BERT])))
    assert {ANNA.secret, BERT.secret} <= world.attacker.readable()


@test
def a_planted_keyfile_slot_is_refused(world):
    world.attacker.plant_keyfile_slot()
    world.expect_refused()
    world.expect_hidden()


@test
def a_planted_retiring_key_is_refused(world):
    world.attacker.plant_retiring_key()
    world.expect_refused()
    world.expect_hidden()


@test
def a_header_of_his_own_is_refused(world):
    world.attacker.replace_header()
    world.expect_refused()
    world.expect_hidden()


@test
def a_header_with_their_key_ids_opens_no_record(world):
    world.attacker.replace_header(same_ids=True)
    world.expect("CORRUPT", password=None)
    world.expect_hidden()


@test
def a_header_with_a_name_key_of_his_own_opens_no_record(world):
    world.attacker.replace_header(own_name_key=True)
    world.expect("CORRUPT", "NOT_FOUND", password=None)
    world.expect_hidden()


@test
def an_injected_record_is_refused(world):
    world.attacker.inject_record(replace(ANNA, secret=b"his token"))
    world.expect("CORRUPT")
    world.expect("CORRUPT", item=BERT)
    world.expect_hidden()


@test
def an_older_header_opens_nothing_that_is_sealed_later(world):
    older = world.attacker.seize()
    later = VaultPlan("attacked", era=2)
    files = era_files(later, [later.password_slot(b"another")], [ANNA, LATER])
    world.attacker.put_back(in_directory(files, 2))
    later_files = world.attacker.seize()
    for names in (["keyfile"], ["header", "header.2"], ["keyfile", "header", "header.2"]):
        world.attacker.put_back(later_files)
        for name in names:
            world.attacker.put_back({"era-2/" + name: older["era-1/" + name]}, ["era-2/" + name])
        world.expect("CORRUPT", password=b"another")
        world.expect_hidden()


@test
def an_older_era_does_not_have_what_is_saved_later(world):
    older = world.attacker.seize()
    later = VaultPlan("attacked", era=2)
    files = era_files(later, [later.password_slot(b"another")], [ANNA, LATER])
    world.attacker.put_back(in_directory(files, 2))
    world.attacker.put_older_era_back(older)
    world.expect("DENIED", password=b"another")
    world.expect("NOT_FOUND", item=LATER)
    world.expect_hidden()


@test
def each_file_and_each_pair_put_back_opens_one_state_or_none(world):
    older = world.attacker.seize()
    newer = replace(ANNA, secret=b"newer of anna")
    world.save(newer, world.plan)
    slots = [world.plan.password_slot(PASSWORD), (5, b"added")]
    world.attacker.write_headers(world.plan.header_fields(slots, epoch=2).data)
    later = world.attacker.seize()
    changed = [path for path in older if older[path] != later[path]]
    assert len(changed) == 3, changed
    for count in (1, 2):
        for paths in itertools.combinations(changed, count):
            world.attacker.put_back(later)
            world.attacker.put_back(older, paths)
            world.expect("OK", "OTHER")
            world.expect_hidden()


@test
def a_forged_sealed_copy_and_pending_part_give_him_nothing(world):
    world.attacker.forge_state(ANNA, bytes(16).hex())
    world.expect("OK")
    world.expect_hidden()


def main():
    failed = 0
    for function in TESTS:
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(directory + "/vault")
            try:
                function(World(directory + "/vault"))
            except AssertionError as problem:
                failed += 1
                print(f"FAIL {function.__name__}: {problem}")
    print(f"{len(TESTS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
