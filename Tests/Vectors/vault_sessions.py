"""Sessions: docs/format.md, sections 10 and 11."""

import json
import os
import re
import struct

from vault_format import fingerprint, item_id, item_name, parse_names
from vault_keys import CURRENT, PURPOSE_METADATA
from vault_primitives import BOX_OVERHEAD, Corrupt, Cursor, NotFound, VaultError, open_box, parse_fields, subkey

FOLDER = "sessions"
REFRESH_SERVICE = "org.tokenkeep.session.refresh"
FILES = re.compile(r"([0-9a-f]{32})(\.active)?")
# Of the era's directory, and of the vault's.
NAMES = re.compile(r"[0-9a-f]{32}(\.active)?(\.tmp|\.corrupt-[0-9]+)?")
SHARED_NAMES = re.compile(r"(slots|lock|keeper|outbox|device@[0-9a-f]{32})(\.tmp)?")
SLOTS_SIZE = 65536 * 8
FILE_MAXIMUM = 8192
STATE_MAXIMUM = 4096
HEAD_SIZE, PREFIX_SIZE = 56, 64
KINDS = {"": 1, ".active": 2}
KIND_WORDS = {1: "user", 2: "guest"}
STATES = {0: "unknown", 1: "locked", 2: "signed-out", 3: "guest", 4: "user", 5: "needs-login"}
# Tag: name, size of the integer; None for text.
NOTE_FIELDS = {
    1: ("kind", 1), 2: ("state", 4), 3: ("reason", 4), 4: ("generation", 8), 5: ("epoch", None), 6: ("next_epoch", None),
    7: ("expires_at", 8), 8: ("refresh_at", 8), 9: ("cool_down_until", 8), 10: ("cool_downs", 1), 11: ("can_renew", 1),
    12: ("ended_epoch", None), 13: ("provider", None), 14: ("scope", None), 15: ("level", 4), 17: ("rotation", 1),
    18: ("overlap", 4), 19: ("is_stashed", 1), 20: ("ends_locally", 1), 21: ("validated_at", 8),
    22: ("refresh_level", 4),
}  # fmt: skip
NEEDED = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15}


def read_sessions(reader):
    """The notes, the NAMEs of the active accounts' pointers, and what is wrong."""
    notes, pointers, problems = [], {}, []
    for entry in reader.names(FOLDER):
        match = FILES.fullmatch(entry)
        if not match:
            continue
        try:
            state, names = read_file(reader, entry, match.group(1), KINDS[match.group(2) or ""])
            if match.group(2):
                pointers[match.group(1)] = parse_pointer(state, entry)
            else:
                notes.append(parse_note(state, names, entry))
        except VaultError as error:
            problems.append(str(error))
    for note in notes:
        note["active"] = is_active(reader, note, pointers)
    return notes, problems


def read_file(reader, entry, name, kind):
    """The state, and the names; None if they are locked."""
    where = f"{FOLDER}/{entry}"
    data = reader.read(where, FILE_MAXIMUM + 1)
    if len(data) > FILE_MAXIMUM:
        raise Corrupt(where, f"more than {FILE_MAXIMUM} bytes")
    cursor = Cursor(data, where)
    cursor.magic_and_version(b"TKSESSON")
    cursor.integer(1, kind, kind)
    cursor.zero(5)
    if cursor.take(16) != reader.keyfile.vault_id or cursor.take(16).hex() != name:
        raise Corrupt(where, "belongs to another vault or another session")
    key_id = cursor.integer(8)
    sizes = cursor.integer(4, BOX_OVERHEAD, STATE_MAXIMUM + BOX_OVERHEAD), cursor.integer(4)
    state_box, names_box = (cursor.take(size) for size in sizes)
    cursor.end()
    era = struct.pack("<Q", reader.era)
    state_data = b"TKsess-s" + era + data[:PREFIX_SIZE] + names_box
    state = open_box(subkey(reader.header.name_key, 4, b"TKname__"), state_data, state_box, where + ", state")
    key = reader.key(PURPOSE_METADATA, key_id, where, {CURRENT}) if names_box else None
    if not key:
        return state, None
    names = parse_names(open_box(key, b"TKsess-n" + era + data[:HEAD_SIZE], names_box, where + ", names"), where)
    if item_name(reader.header.name_key, *names) != name:
        raise Corrupt(where, "namespace, service and account do not give NAME")
    return state, names


def parse_pointer(state, entry):
    if len(state) not in (0, 16):
        raise Corrupt(f"{FOLDER}/{entry}", "neither an ID nor empty")
    return state.hex()


def parse_note(state, names, entry):
    where = f"{FOLDER}/{entry}, state"
    fields = parse_fields(state, {}, set(NOTE_FIELDS) | {16}, where)
    if not NEEDED <= set(fields):
        raise Corrupt(where, f"fields {sorted(NEEDED - set(fields))} are missing")
    note = {"names": names, "refreshing": None}
    for tag, (word, size) in NOTE_FIELDS.items():
        if tag not in fields:
            continue
        value = fields[tag][0]
        if size is not None and len(value) != size:
            raise Corrupt(where, f"{word} has {len(value)} bytes")
        note[word] = value.decode("utf-8") if size is None else int.from_bytes(value, "little")
    if note["kind"] not in KIND_WORDS or note["state"] not in STATES or note["reason"] > 9:
        raise Corrupt(where, "an unknown word")
    note["kind"], note["state"] = KIND_WORDS[note["kind"]], STATES[note["state"]]
    if 16 in fields:
        note["refreshing"] = parse_refreshing(fields[16][0], where)
    return note


def parse_refreshing(data, where):
    cursor = Cursor(data, where + ", refresh")
    parts = {"fingerprint": cursor.take(16).hex(), "wall": cursor.time(), "boottime": cursor.time()}
    parts |= {"process": cursor.integer(4), "answer": cursor.integer(1, 0, 2)}
    return parts | {"boot": cursor.take(cursor.left()).decode("ascii")}


def is_active(reader, note, pointers):
    """None if the names are locked."""
    if note["names"] is None:
        return None
    namespace, service, _ = note["names"]
    pointer = pointers.get(item_name(reader.header.name_key, namespace, service, ""))
    return pointer == item_id(reader.header.journal_key, *note["names"])


def check_record(reader, note):
    """The record of a live session fits its note, and its refresh token the note's fingerprint."""
    if note["names"] is None or note["state"] not in ("user", "guest"):
        return
    try:
        record = json.loads(reader.load(*note["names"]).secret)
    except NotFound:
        return  # In another module.
    where = f"{FOLDER}: {note['names']}"
    if record["tokenkeep_session"] != 1 or record["kind"] != note["kind"]:
        yield f"{where}: the record is of another kind"
    if (record["epoch"], record["generation"]) != (note["epoch"], note["generation"]):
        yield f"{where}: the record has another epoch or generation"
    token = record.get("refresh_token")
    if record.get("refresh_item"):
        if token is not None or record["refresh_accessibility"] != note.get("refresh_level", 0):
            yield f"{where}: the refresh token is in the record, or at another level"
        try:
            token = refresh_token(reader, note, record)
        except NotFound:
            return  # In another module.
        if token is None:
            yield f"{where}: the item of the refresh token is another sign-in's"
    sent = note["refreshing"]
    if sent and token and sent["fingerprint"] != fingerprint(reader.header.journal_key, token.encode()):
        yield f"{where}: the note is about another refresh token"


def refresh_token(reader, note, record):
    """The refresh token that is an item of its own; None if it is another sign-in's."""
    secret = reader.load(note["names"][0], REFRESH_SERVICE, record["refresh_item"]).secret
    item = json.loads(secret)
    if item["tokenkeep_refresh"] != 1:
        raise Corrupt(REFRESH_SERVICE, "another version")
    for entry in (item, item.get("previous", {})):
        if entry.get("epoch") == record["epoch"]:
            return entry["refresh_token"]
    return None


def check_shared_files(directory):
    """The directory of the vault itself, the same in every era."""
    for entry in sorted(os.listdir(directory)):
        if not SHARED_NAMES.fullmatch(entry):
            yield f"{FOLDER}/{entry}: no name of the format"
        elif entry == "slots" and os.path.getsize(os.path.join(directory, entry)) > SLOTS_SIZE:
            yield f"{FOLDER}/slots: more than {SLOTS_SIZE} bytes"
