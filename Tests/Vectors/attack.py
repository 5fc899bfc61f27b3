"""An attacker who has every file of a vault, the keyfile among them, at any time he likes; never the password.

He can make MAC A and state boxes, for the keyfile opens the name key. `Attacker.readable` is all that he can decrypt.
"""

import os
import shutil
import struct
from dataclasses import replace

from cases_copies_common import copies_pairs
from record_writer import ItemPlan, RecordPlan, pending_part, state_pairs, without_boxes
from vault_format import FLAG_PRESENCE, PREFIX_SIZE, Prefix, parse_record
from vault_header import HEADER_HEAD, MACS_SIZE, parse_header
from vault_keys import CURRENT, KEYFILE_SIZE, PURPOSE_JOURNAL, PURPOSE_NAME, RETIRING, Keyfile, parse_keyfile, parse_slot
from vault_keys import wrapped_key_data
from vault_primitives import BOX_OVERHEAD, Cursor, VaultError, hash_bytes, length_prefixed, open_box, parse_fields
from vault_primitives import seal_box, subkey
from vault_reader import ERA_NAME
from vault_sessions import FOLDER, NOTE_FIELDS, PREFIX_SIZE as SESSION_PREFIX
from vault_writer import Fields, Key, VaultPlan, add_slot, new_key
from vector_file import Link


class Attacker:
    """`copies` are all states of the directory that he has seen: {path: bytes}."""

    def __init__(self, directory):
        self.directory, self.copies, self.planted = directory, [], set()
        self.seize()
        self.learn()

    def seize(self):
        """Copies everything."""
        self.copies.append(files_of(self.directory))
        return self.copies[-1]

    def learn(self):
        """Takes the vault's ids, its keyfile, and what that opens: name key and journal key. All else in `plan` is his own."""
        self.era = self.copies[-1]["current"].decode()
        number = int(ERA_NAME.fullmatch(self.era)[1])
        keyfile = parse_keyfile(self.read("keyfile"), number)
        self.header = parse_header(self.read("header"), keyfile, "header")
        self.plan = VaultPlan("the attacker's own", number)
        self.plan.vault_id, self.plan.keyfile = keyfile.vault_id, keyfile
        self.plan.name_key = Key(PURPOSE_NAME, 1, self.header.name_key)
        self.plan.journal_key = Key(PURPOSE_JOURNAL, 1, self.header.journal_key)
        self.planted |= {key.secret for key in (*self.plan.keys(), self.plan.presence_key)}

    def read(self, name):
        """A file of the era, as it was when he copied it."""
        return self.copies[-1][f"{self.era}/{name}"]

    def write(self, name, content):
        """A file of the era."""
        place(self.directory, f"{self.era}/{name}", content)

    def write_headers(self, data):
        self.write("header", data)
        self.write("header.2", data)

    # What he can make

    def plant_keyfile_slot(self, retiring=()):
        """A keyfile slot with his own keys behind the slots that are there. MAC A is right."""
        slot = Fields()
        add_slot(slot, "", self.plan.keyfile_slot(keys=[*self.plan.keys(), *retiring]), self.plan.keyfile)
        old = self.header.data
        (count,) = struct.unpack_from("<H", old, 10)
        body = old[:10] + struct.pack("<HI", count + 1, len(old) + len(slot.data)) + old[16:40]
        body += struct.pack("<Q", self.header.epoch + 1) + old[48:-MACS_SIZE] + slot.data
        self.write_headers(self.plan.with_macs(body))

    def plant_retiring_key(self):
        """The same slot with a retiring key of his own for level 2."""
        key = new_key("the attacker's retiring key", 2, RETIRING)
        self.planted.add(key.secret)
        self.plant_keyfile_slot([key])

    def replace_header(self, same_ids=False, own_name_key=False):
        """A header with a keyfile slot alone, and right MACs A and B under keys of his own. With `same_ids` they have the
        ids of the vault's keys, which everybody can read. With `own_name_key` no record's state box opens any more."""
        if same_ids:
            self.take_ids()
        if own_name_key:
            self.plan.name_key = new_key("the attacker's name key", PURPOSE_NAME)
        self.write_headers(self.plan.header_fields(epoch=self.header.epoch + 1).data)

    def take_ids(self):
        """Gives his keys the ids of the vault's."""
        ids = {purpose: key_id for (purpose, key_id), state in self.header.wrapped.items() if state == CURRENT}
        for key in self.plan.keys():
            key.key_id = ids[key.purpose]

    def inject_record(self, item):
        """A record of the item under his class key, with a right state box. The metadata key's id is the vault's."""
        ids = {purpose: key_id for (purpose, key_id) in self.header.wrapped}
        metadata_key = replace(self.plan.metadata_key, key_id=ids[self.plan.metadata_key.purpose])
        record = RecordPlan(self.plan, item, metadata_key=metadata_key)
        self.write("records/" + self.plan.name_of(*item.names()), record.data())

    def make_later_era(self, password=None):
        """The next era with keys of his own, and `current`. His keyfile slot opens it, or his password."""
        plan = VaultPlan("the attacker's later era", self.plan.era + 1)
        plan.vault_id = self.plan.vault_id
        era = f"era-{plan.era}/"
        header = plan.header_fields([plan.password_slot(password) if password else plan.keyfile_slot()]).data
        self.planted |= {key.secret for key in (*plan.keys(), plan.presence_key)}
        files = {"keyfile": plan.keyfile_fields().data, "header": header, "header.2": header}
        for name, content in files.items():
            place(self.directory, era + name, content)
        os.makedirs(os.path.join(self.directory, era + "records"), 0o700, exist_ok=True)
        place(self.directory, "current", Link(era[:-1].encode("ascii")))

    def forge_tombstones(self, count):
        """Records of items that were cleared, with right states."""
        for number in range(count):
            item = ItemPlan("cleared", f"item {number}", b"")
            names = length_prefixed([part.encode("utf-8") for part in item.names()])
            record = without_boxes(self.plan, item, state_pairs((4, names)))
            self.write("records/" + self.plan.name_of(*item.names()), record.data())

    def forge_state(self, item, machine, module=b"secret-service"):
        """A pending write and a sealed copy in the item's record, whose other boxes stay. The state is sealed anew."""
        name, machine = self.plan.name_of(*item.names()), bytes.fromhex(machine)
        data = self.read("records/" + name)
        prefix = parse_record(data, name, self.plan.vault_id, name)
        state = copies_pairs(item, [(machine, module, [], [])], [pending_part(1, module, machine=machine)])
        ids = {"metadata_key_id": prefix.metadata_key_id, "class_key_id": prefix.class_key_id}
        record = RecordPlan(self.plan, item, state, level=prefix.level, flags=prefix.flags, **ids)
        record.metadata_box, record.secret_box = prefix.metadata_box, prefix.secret_box
        self.write("records/" + name, record.data())
        self.write("pending/" + name, b"")

    def forge_note(self, names, **words):
        """Other words, texts or numbers, in a session's note. The state is sealed anew; the names' box stays."""
        name = self.plan.name_of(*names)
        data = self.read(f"{FOLDER}/{name}")
        prefix, (size,) = data[:SESSION_PREFIX], struct.unpack_from("<I", data, SESSION_PREFIX - 8)
        box, names_box = data[SESSION_PREFIX : SESSION_PREFIX + size], data[SESSION_PREFIX + size :]
        key = subkey(self.header.name_key, 4, b"TKname__")
        era = b"TKsess-s" + struct.pack("<Q", self.plan.era)
        fields = parse_fields(open_box(key, era + prefix + names_box, box, "note"), {}, set(range(64)), "note")
        for tag, (word, length) in NOTE_FIELDS.items():
            if word in words:
                value = words.pop(word)
                fields[tag] = [value.encode("utf-8") if length is None else value.to_bytes(length, "little")]
        assert not words, f"a note has no {words}"
        state = b"".join(struct.pack("<HI", tag, len(value)) + value for tag, (value,) in sorted(fields.items()))
        prefix = prefix[:-8] + struct.pack("<I", len(state) + BOX_OVERHEAD) + prefix[-4:]
        self.write(f"{FOLDER}/{name}", prefix + seal_box(key, era + prefix + names_box, state, os.urandom(24)) + names_box)

    def put_back(self, copy, paths=None):
        """Files as they were in a copy; all of it, and nothing else, if no paths are given."""
        if paths is None:
            shutil.rmtree(self.directory)
            os.mkdir(self.directory, 0o700)
        for path in copy if paths is None else paths:
            place(self.directory, path, copy[path])

    def put_older_era_back(self, copy):
        """The era that was in force in the copy, and `current`; the later era stays beside it."""
        era = copy["current"].decode() + "/"
        self.put_back(copy, [path for path in copy if path == "current" or path.startswith(era)])

    # What he has of it

    def readable(self):
        """Every secret that he can decrypt, in any file that he ever had, with any key that he has or can unwrap."""
        self.seize()
        files = {content for copy in self.copies for content in copy.values()}
        keys = set(self.planted)
        for keyfile in filter(is_keyfile, files):
            keys.add(Keyfile(b"", 0, keyfile[48:80]).wrapping_key())
        for header in (content for content in files if content[:8] == b"TKHEADER"):
            keys |= unwrapped_keys(header, keys)
        records = [content for content in files if content[:8] == b"TKRECORD"]
        return {secret for record in records for secret in secrets_of(record, keys)}

    def sees(self, secret):
        """Whether he reads the secret, or it stands anywhere as it is."""
        return secret in self.readable() or any(secret in content for copy in self.copies for content in copy.values())


def is_keyfile(content):
    return content[:8] == b"TKKEYFIL" and len(content) == KEYFILE_SIZE


def unwrapped_keys(header, keys):
    """The keys in any slot that any key opens, whatever the MACs say."""
    cursor, found = Cursor(header[HEADER_HEAD:-MACS_SIZE], "header"), set()
    vault_id, (era,) = header[16:32], struct.unpack_from("<Q", header, 32)
    while cursor.left():
        slot = parse_slot(cursor, "header")
        for key in slot.wrapped:
            data = wrapped_key_data(vault_id, era, slot.type, slot.slot_id, key.identity())
            found |= opened(keys, data, key.box)
    return found


def secrets_of(record, keys):
    """What any key opens in a record, a sealed secret or a file that is carried over."""
    state, metadata, secret = struct.unpack_from("<3I", record, 80)
    start = PREFIX_SIZE + state
    metadata_box, box = record[start : start + metadata], record[start + metadata : start + metadata + secret]
    prefix = Prefix(record[:PREFIX_SIZE], 0, 0, 0, 0, 0, b"", metadata_box, box)
    joined = {hash_bytes(32, key, other) for key in keys for other in keys} if record[48] & FLAG_PRESENCE else set()
    return opened(keys | joined, prefix.secret_data(), box)


def opened(keys, data, box):
    found = set()
    for key in keys:
        try:
            found.add(open_box(key, data, box, "box"))
        except VaultError:
            continue
    return found


def files_of(directory):
    """{path: bytes, or Link}"""
    files = {}
    for parent, folders, names in os.walk(directory):
        for path in (os.path.join(parent, name) for name in (*folders, *names)):
            if os.path.islink(path):
                files[os.path.relpath(path, directory)] = Link(os.readlink(path).encode())
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    files[os.path.relpath(path, directory)] = file.read()
    return files


def place(directory, path, content):
    path = os.path.join(directory, path)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    if os.path.lexists(path):
        os.remove(path)
    if isinstance(content, Link):
        os.symlink(content, path)
        return
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, 0o600)
