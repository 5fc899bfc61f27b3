"""A strict second reader of TokenKeep vaults, written from docs/format.md alone.

VaultReader opens a vault directory; it never writes. Errors: Corrupt, Unsupported, NotFound, Denied, Locked.
"""

import os
import re
import stat

from vault_format import (
    FLAG_PRESENCE,
    RECORD_MAXIMUM,
    Item,
    NotOfThisHeader,
    item_name,
    item_version,
    open_state,
    parse_metadata,
    parse_record,
    parse_state,
    writes_mac,
)
from vault_header import HEADER_MAXIMUM, NoSlot, Refused, Testified, check_trust, open_keyfile_slot, open_typed_slots, parse_header
from vault_keys import CURRENT, KEYFILE_SIZE, PURPOSE_METADATA, PURPOSE_PRESENCE, RETIRING, Machine, parse_keyfile
from vault_primitives import Corrupt, Denied, Locked, NotFound, VaultError, hash_bytes, open_box

ERA_NAME = re.compile(r"era-([1-9][0-9]{0,18})")
ERA_MAXIMUM = 2**63 - 1
RECORD_NAME = re.compile(r"[0-9a-f]{32}")


class VaultReader:
    """A vault that is there. `password` and `code` (bytes) open slots; the keyfile does if no password is set. `trust` is
    what the kernel's trust key holds; None if there is no such key.

    Every record is asked to testify, while the page asks 16 of them."""

    def __init__(self, directory, password=None, code=None, trust=None, machine_key=None, tpm=None, systemd=None):
        self.directory, self.password, self.code, self.trust = directory, password, code, trust
        self.machine = Machine(machine_key, tpm, systemd)
        self.enter_era()

    def enter_era(self):
        """Reads `current`, the keyfile and the header."""
        self.folder = self.read_current()
        if not os.path.isdir(self.path()) or os.path.islink(self.path()):
            raise Corrupt("current", "names no era")
        try:
            data = self.read("keyfile", KEYFILE_SIZE + 1)
        except NotFound:
            raise Corrupt("keyfile", "missing in the era in force") from None
        self.era = int(self.folder.removeprefix("era-"))
        self.keyfile = parse_keyfile(data, self.era)
        self.read_header()

    def read_current(self):
        try:
            target = os.readlink(os.path.join(self.directory, "current"))
        except FileNotFoundError:
            if self.has_records():
                raise Corrupt("current", "missing, and there are records") from None
            raise NotFound(self.directory, "no vault") from None
        except OSError:
            raise Corrupt("current", "not a symbolic link") from None
        if not ERA_NAME.fullmatch(target) or int(target.removeprefix("era-")) > ERA_MAXIMUM:
            raise Corrupt("current", f"{target!r} is no era's name")
        return target

    def has_records(self):
        eras = [name for name in os.listdir(self.directory) if ERA_NAME.fullmatch(name)]
        return any(self.names("records", era) for era in eras)

    def path(self, name="", era=None):
        return os.path.join(self.directory, era or self.folder, name)

    def names(self, folder, era=None):
        """What stands in a folder of the era, in order."""
        path = self.path(folder, era)
        return sorted(os.listdir(path)) if os.path.isdir(path) else []

    def record_names(self):
        return list(filter(RECORD_NAME.fullmatch, self.names("records")))

    def read(self, name, limit):
        """At most `limit` bytes of a file of the era."""
        try:
            descriptor = os.open(self.path(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            raise NotFound(name, "no such file") from None
        except OSError as error:
            raise Corrupt(name, error.strerror) from None
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Corrupt(name, "not a regular file")
            return file.read(limit)

    def read_header_copy(self, name):
        header = parse_header(self.read(name, HEADER_MAXIMUM + 1), self.keyfile, name)
        is_typed = self.password is not None or self.code is not None
        if self.trust is not None:
            check_trust(header, self.era, self.trust, name, is_typed)
        open_keyfile_slot(header, self.keyfile, name, self.machine)
        if is_typed or not header.has_password():
            self.hear_testimony(header, name)
        open_typed_slots(header, self.keyfile, name, self.password, self.code, self.machine)
        return header

    def read_header(self):
        """`header`; `header.2` if the first fails in any way but that records testify or the password opens no slot."""
        failures = []
        for name in ("header", "header.2"):
            try:
                self.header = self.read_header_copy(name)
                return
            except (Testified, Denied, NoSlot):
                raise
            except NotFound:
                continue
            except VaultError as error:
                failures.append(error)
        # A forged or locked copy tells more than a damaged one.
        for telling in (Refused, Locked, VaultError):
            for failure in failures:
                if isinstance(failure, telling):
                    raise failure
        raise Corrupt("header", "missing in the era in force")

    def hear_testimony(self, header, where):
        """The records with a level are heard that are of this vault and era by their prefixes."""
        opened = closed = 0
        for name in self.record_names():
            prefix = self.read_witness(name, header)
            if prefix is None or prefix.level == 0:
                continue
            try:
                open_state(prefix, header.name_key, "records/" + name)
            except VaultError:
                closed += 1
                continue
            opened += 1
            if not self.fits(prefix, header, "records/" + name):
                raise Testified(where, f"records/{name} was written under another one")
        if closed >= 3 and closed > opened:
            raise Testified(where, "the state boxes of most records do not open")

    def read_witness(self, name, header):
        where = "records/" + name
        try:
            prefix = parse_record(self.read(where, RECORD_MAXIMUM + 1), name, self.keyfile.vault_id, where)
        except VaultError:
            return None
        is_retiring = header.wrapped.get((prefix.level, prefix.class_key_id)) == RETIRING
        return None if is_retiring or prefix.era != self.era else prefix

    def fits(self, prefix, header, where):
        """Whether a record whose state box opens can have been written under the header."""
        metadata_name = (PURPOSE_METADATA, prefix.metadata_key_id)
        if (prefix.level, prefix.class_key_id) not in header.wrapped or metadata_name not in header.wrapped:
            return False
        key = header.opened.get(metadata_name)
        try:
            return key is None or open_box(key, prefix.metadata_data(), prefix.metadata_box, where) is not None
        except Corrupt:
            return False

    def load(self, namespace, service, account):
        """The item with its secret."""
        item = self.read_item(item_name(self.header.name_key, namespace, service, account))
        if item.level == 0:
            raise NotFound("records/" + item.name, "cleared")
        if item.secret is None:
            raise Locked("records/" + item.name, "its keys are in no slot that could be opened")
        return item

    def copies(self, namespace, service, account):
        """The sealed copies that the item's record names."""
        name = item_name(self.header.name_key, namespace, service, account)
        copies = self.read_item(name).state.copies
        if copies is None:
            raise NotFound("records/" + name, "no sealed copies")
        return copies

    def read_item(self, name):
        """The item as far as the opened slots reach; a tombstone too."""
        data = self.read("records/" + name, RECORD_MAXIMUM + 1)
        return self.with_fresh_header(lambda: self.parse_item(data, name))

    def with_fresh_header(self, read):
        try:
            return read()
        except NotOfThisHeader:
            self.enter_era()
            return read()

    def parse_item(self, data, name):
        where = "records/" + name
        prefix = parse_record(data, name, self.keyfile.vault_id, where)
        if prefix.era != self.era:
            raise NotOfThisHeader(where, f"of era {prefix.era}")
        state_plain = open_state(prefix, self.header.name_key, where)
        state = parse_state(state_plain, prefix.level, name, self.header.name_key, where + ", state")
        item = Item(name, prefix.level, prefix.flags, state)
        if item.level == 0:
            state.keep_removals()
            return item
        metadata_key = self.key(PURPOSE_METADATA, prefix.metadata_key_id, where, {CURRENT})
        if metadata_key and writes_mac(metadata_key, prefix, state.writes) != state.writes_mac:
            state.keep_removals()
        class_key = self.key(prefix.level, prefix.class_key_id, where, {CURRENT})
        if metadata_key:
            plain = open_box(metadata_key, prefix.metadata_data(), prefix.metadata_box, where + ", metadata")
            item.metadata = parse_metadata(plain, name, self.header.name_key, where + ", metadata")
        if metadata_key and class_key:
            self.open_secret(item, prefix, class_key, where)
        return item

    def key(self, purpose, key_id, where, states):
        """None where the key stands only in slots that were not opened."""
        if self.header.wrapped.get((purpose, key_id)) not in states:
            raise NotOfThisHeader(where, f"key id {key_id:016x} for purpose {purpose} is not in the header")
        return self.header.opened.get((purpose, key_id))

    def secret_keys(self, prefix, class_key, states):
        """What the secret may be sealed under; nothing where no slot that was opened has the presence key."""
        if not prefix.flags & FLAG_PRESENCE:
            return [class_key]
        wrapped = self.header.wrapped.items()
        presence = [name for name, state in wrapped if name[0] == PURPOSE_PRESENCE and state in states]
        opened = [self.header.opened.get(name) for name in presence]
        return [hash_bytes(32, class_key, key) for key in opened if key]

    def open_secret(self, item, prefix, class_key, where):
        keys = self.secret_keys(prefix, class_key, {CURRENT})
        if not keys:
            return
        item.secret = open_box(keys[0], prefix.secret_data(), prefix.secret_box, where + ", secret")
        version = item_version(self.header.journal_key, item.metadata, item.level, item.flags, item.secret)
        if version != item.metadata.version:
            raise Corrupt(where, "the version is not the hash of the item")
