"""The vault that most cases begin with: two items of level 2, of the same sizes, and the words to spoil it.

Cases name files as they stand in the era; a `/` before a name says that the file stands beside the eras."""

from record_writer import ItemPlan, RecordPlan
from vault_writer import VaultPlan
from vector_file import Link, Vector

VAULT = VaultPlan()
FOREIGN = VaultPlan("another vault")
ANNA = ItemPlan("mail.example", "anna", b"token of anna", label="mail.example (anna)")
BERT = ItemPlan("news.example", "bert", b"token of bert", label="news.example (bert)")
ALSO_BERT = (BERT.service, BERT.account, BERT.secret)
PASSWORD = "correct horse \u00fc".encode("utf-8")


def path_of(item, vault=VAULT):
    return "records/" + vault.name_of(*item.names())


def era_files(vault=VAULT, slots=None, items=(), **header):
    """An era: keyfile, header and records of the items."""
    data = vault.header_fields(slots, **header).data
    files = {"keyfile": vault.keyfile_fields().data, "header": data, "header.2": data}
    return files | {path_of(item, vault): RecordPlan(vault, item).data() for item in items}


def base_files(vault=VAULT, slots=None, bert=True):
    """A vault of `slots` (the keyfile slot by default) without Anna's record."""
    return era_files(vault, slots, [BERT] if bert else [])


def in_directory(files, era=1):
    """The files of the whole directory, in which `era` is in force; None removes a file."""
    paths = {"/current": Link(b"era-%d" % era), "/lock": b""} | files
    paths = {path[1:] if path[0] == "/" else f"era-{era}/{path}": content for path, content in paths.items()}
    return {path: content for path, content in paths.items() if content is not None}


def vector(name, expect, comment, item, files, secret=None, also=None, era=1, **more):
    """`item`: an ItemPlan. `secret`: another one than the item's."""
    if expect == "OK" and secret is None and "note" not in more:
        secret = item.secret
    return Vector(name, expect, comment, item.names(), in_directory(files, era), secret, also, **more)


def with_anna(changes=None):
    """The untouched vault of Anna and Bert with some files changed."""
    return era_files(items=[ANNA, BERT]) | (changes or {})


def record_case(name, data, comment, expect="CORRUPT", item=ANNA, is_refused=False):
    """Anna's record is `data`. Bert's stays readable, unless Anna's makes a reader refuse the header."""
    also = ALSO_BERT if item.namespace == "" and not is_refused else None
    return vector(name, expect, comment, item, base_files() | {path_of(item): data}, also=also)


def vault_case(name, changes, comment, expect="CORRUPT"):
    """Files of the whole vault are changed: where it cannot be opened, Bert is not readable either."""
    return vector(name, expect, comment, ANNA, with_anna(changes), also=ALSO_BERT if expect == "OK" else None)


def both_headers(name, data, comment, expect="CORRUPT"):
    return vault_case(name, {"header": data, "header.2": data}, comment, expect)


def locked_case(name, slots, comment, expect="OK", changes=None, vault=VAULT, item=ANNA, **unlocking):
    """A vault with a password, with Anna's and Bert's records. `unlocking`: password or code."""
    files = era_files(vault, slots, [ANNA, BERT]) | (changes or {})
    return vector(name, expect, comment, item, files, **unlocking)


def flipped(data, offset, bit=1):
    return data[:offset] + bytes([data[offset] ^ (1 << bit)]) + data[offset + 1 :]
