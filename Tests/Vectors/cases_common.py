"""The vault that most cases begin with: two items of level 2, of the same sizes, and the words to spoil it."""

from vault_writer import ItemPlan, RecordPlan, VaultPlan
from vector_file import Vector

VAULT = VaultPlan()
FOREIGN = VaultPlan("another vault")
ANNA = ItemPlan("mail.example", "anna", b"token of anna", label="mail.example (anna)")
BERT = ItemPlan("news.example", "bert", b"token of bert", label="news.example (bert)")
ALSO_BERT = (BERT.service, BERT.account, BERT.secret)


def path_of(item, vault=VAULT):
    return "records/" + vault.name_of(*item.names())


def base_files(vault=VAULT, slots=None, bert=True):
    """A vault of `slots` (the keyfile slot by default) without Anna's record."""
    header = vault.header_fields(slots).data
    files = {"keyfile": vault.keyfile_fields().data, "header": header, "header.2": header, "lock": b""}
    if bert:
        files[path_of(BERT, vault)] = RecordPlan(vault, BERT).data()
    return files


def with_anna(changes=None):
    """The untouched vault of Anna and Bert; a change to None removes the file."""
    files = base_files()
    files[path_of(ANNA)] = RecordPlan(VAULT, ANNA).data()
    for path, content in (changes or {}).items():
        files.pop(path, None)
        if content is not None:
            files[path] = content
    return files


def record_case(name, data, comment, expect="CORRUPT", item=ANNA):
    """Anna's record is `data`; Bert's stays readable."""
    files = base_files() | {path_of(item): data}
    secret = item.secret if expect == "OK" else None
    also = ALSO_BERT if item.namespace == "" else None
    return Vector(name, expect, comment, item.names(), files, secret, also)


def vault_case(name, changes, comment, expect="CORRUPT"):
    """Files of the whole vault are changed: where it cannot be opened, Bert is not readable either."""
    secret, also = (ANNA.secret, ALSO_BERT) if expect == "OK" else (None, None)
    return Vector(name, expect, comment, ANNA.names(), with_anna(changes), secret, also)


def both_headers(name, data, comment, expect="CORRUPT"):
    return vault_case(name, {"header": data, "header.2": data}, comment, expect)


def flipped(data, offset, bit=1):
    return data[:offset] + bytes([data[offset] ^ (1 << bit)]) + data[offset + 1 :]
