"""Opens what a vault sealed whole: a secret for another module, a file of an earlier era. docs/format.md, sections 4 and 6."""

from vault_format import (
    CARRIED_OVER_MAXIMUM,
    KIND_CARRIED_OVER,
    KIND_SEALED,
    SECRET_BOX_MAXIMUM,
    NotOfThisHeader,
    item_id,
    parse_one_box,
)
from vault_keys import CURRENT, RETIRING
from vault_primitives import Corrupt, Locked, open_box


def open_sealed(reader, names, level, flags, data):
    """The secret of the item `names`, of which its module says that it has this level and these flags."""
    return reader.with_fresh_header(lambda: parse_and_open_sealed(reader, names, level, flags, data))


def parse_and_open_sealed(reader, names, level, flags, data):
    where = "sealed secret of " + "/".join(names)
    name = item_id(reader.header.journal_key, *names)
    prefix = parse_one_box(data, KIND_SEALED, name, reader.keyfile.vault_id, SECRET_BOX_MAXIMUM, where)
    if (prefix.level, prefix.flags) != (level, flags):
        raise Corrupt(where, "sealed for another level or other flags than its module says")
    if not 1 <= prefix.era <= reader.era:
        raise NotOfThisHeader(where, f"of era {prefix.era}")
    class_key = reader.key(level, prefix.class_key_id, where, {CURRENT, RETIRING})
    keys = reader.secret_keys(prefix, class_key, {CURRENT, RETIRING}) if class_key else []
    if not keys:
        raise Locked(where, "its keys are in no slot that could be opened")
    return open_with_any(keys, prefix, where + ", secret")


def open_with_any(keys, prefix, where):
    """A sealed secret does not name its presence key, so each one is tried."""
    for key in keys[:-1]:
        try:
            return open_box(key, prefix.secret_data(), prefix.secret_box, where)
        except Corrupt:
            continue
    return open_box(keys[-1], prefix.secret_data(), prefix.secret_box, where)


def open_carried_over(reader, name, data):
    """The bytes of a file that no key of an earlier era opened. `name`: the NAME in the name of the file that holds `data`."""
    where = "carried over " + name
    prefix = parse_one_box(data, KIND_CARRIED_OVER, name, reader.keyfile.vault_id, CARRIED_OVER_MAXIMUM, where)
    if (prefix.level, prefix.flags, prefix.era) != (2, 0, reader.era):
        raise Corrupt(where, f"level {prefix.level}, flags {prefix.flags}, era {prefix.era}")
    class_key = reader.key(2, prefix.class_key_id, where, {CURRENT})
    if class_key is None:
        raise Locked(where, "its key is in no slot that could be opened")
    return open_box(class_key, prefix.secret_data(), prefix.secret_box, where)
