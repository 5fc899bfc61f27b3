"""Opens what a vault sealed for another module: docs/format.md, section 6."""

from vault_format import PREFIX_SIZE, SECRET_BOX_MAXIMUM, Prefix, UnknownKey, item_name
from vault_primitives import BOX_OVERHEAD, Corrupt, Cursor, Locked

KIND_SEALED = 2


def open_sealed(reader, names, level, flags, data):
    """The secret of the item `names`, of which its module says that it has this level and these flags."""
    try:
        return parse_and_open(reader, names, level, flags, data)
    except UnknownKey:
        reader.read_header()
        return parse_and_open(reader, names, level, flags, data)


def parse_and_open(reader, names, level, flags, data):
    where = "sealed secret of " + "/".join(names)
    name = item_name(reader.header.name_key, *names)
    prefix = parse_sealed(data, name, reader.keyfile.vault_id, reader.header.name_key_id, where)
    if (prefix.level, prefix.flags) != (level, flags):
        raise Corrupt(where, "sealed for another level or other flags than its module says")
    class_key = reader.key(level, prefix.class_key_id, where)
    keys = reader.secret_keys(prefix, class_key) if class_key else []
    if not keys:
        raise Locked(where, "its keys are in no slot that could be opened")
    return reader.open_with_any(keys, prefix, where)


def parse_sealed(data, name, vault_id, name_key_id, where):
    """The prefix and the one box, still sealed."""
    cursor = Cursor(data, where)
    cursor.magic_and_version(b"TKRECORD")
    cursor.integer(1, KIND_SEALED, KIND_SEALED)
    cursor.zero(1)
    level = cursor.integer(1, 1, 5)
    cursor.zero(3)
    if cursor.take(16) != vault_id:
        raise Corrupt(where, "sealed by another vault")
    if cursor.take(16).hex() != name:
        raise Corrupt(where, "sealed for another item")
    flags = cursor.integer(4, 0, 7)
    cursor.zero(4)
    if cursor.integer(8) != name_key_id:
        raise UnknownKey(where, "unknown key id of the name key")
    metadata_key_id, class_key_id = cursor.integer(8, 0, 0), cursor.integer(8)
    cursor.zero(8)
    secret_length = cursor.integer(4, BOX_OVERHEAD, SECRET_BOX_MAXIMUM)
    cursor.zero(4)
    box = cursor.take(secret_length)
    cursor.end()
    return Prefix(data[:PREFIX_SIZE], level, flags, metadata_key_id, class_key_id, b"", b"", box)
