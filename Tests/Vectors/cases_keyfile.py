"""One fault in the keyfile, in `current` or in what an era consists of; and eras that lie beside the one in force."""

from cases_common import ALSO_BERT, ANNA, BERT, FOREIGN, VAULT, base_files, era_files, flipped, path_of
from cases_common import vault_case, vector
from record_writer import RecordPlan
from vault_writer import VaultPlan
from vector_file import Link

SECOND_ERA = VaultPlan(era=2)
LAST_ERA = 2**63 - 1


def cases():
    yield from byte_cases()
    yield from field_cases()
    yield from missing_cases()
    yield from current_cases()
    yield from era_cases()


def keyfile_case(name, data, comment, expect="CORRUPT"):
    return vault_case("keyfile-" + name, {"keyfile": data}, comment, expect)


def byte_cases():
    fields = VAULT.keyfile_fields()
    good = fields.data
    for name, (offset, _) in fields.places.items():
        yield keyfile_case(f"truncated-before-{name}", good[:offset], f"The keyfile ends before its field {name}.")
        expect = "UNSUPPORTED" if name == "version" else "CORRUPT"
        comment = f"A bit of the keyfile's field {name} is flipped."
        yield keyfile_case("flipped-" + name, flipped(good, offset), comment, expect)
    yield keyfile_case("truncated-last-byte", good[:-1], "The keyfile lacks its last byte.")
    yield keyfile_case("byte-behind", good + b"\0", "A byte stands behind the keyfile's end.")


def field_cases():
    newer = VAULT.keyfile_fields(version=2).data
    yield keyfile_case("version-2", newer, "The keyfile has version 2 and is otherwise right.", "UNSUPPORTED")
    comment = "The keyfile has version 2 and is longer than one of version 1."
    yield keyfile_case("version-2-longer", newer + bytes(16), comment, "UNSUPPORTED")
    never = VAULT.keyfile_fields(version=0).data
    yield keyfile_case("version-0", never, "The keyfile has version 0 and is otherwise right.")
    for name, changes in (("reserved", {"reserved": bytes(5) + b"\1"}), ("era-reserved", {"era_reserved": b"\1" + bytes(7)})):
        comment = "A reserved byte of the keyfile is not zero; the checksum fits."
        yield keyfile_case(name + "-not-zero", VAULT.keyfile_fields(**changes).data, comment)
    for era in (0, 2, 1 << 63):
        comment = f"The keyfile says that it is of era {era}; the checksum fits."
        yield keyfile_case(f"era-{era}", VAULT.keyfile_fields(era=era).data, comment)
    yield keyfile_case("of-another-vault", FOREIGN.keyfile_fields().data, "The keyfile is one of another vault.")
    yield keyfile_case("of-another-era", SECOND_ERA.keyfile_fields().data, "The keyfile is one of another era.")


def missing_cases():
    yield vault_case("keyfile-missing", {"keyfile": None}, "There is a header and no keyfile.")
    yield vault_case("header-both-missing", {"header": None, "header.2": None}, "There are records and no header.")
    empty = base_files(bert=False) | {"header": None, "header.2": None}
    comment = "There are neither records nor a header, and `current` names the era."
    yield vector("header-both-missing-without-records", "CORRUPT", comment, ANNA, empty)
    fields = VAULT.header_fields()
    damaged = flipped(fields.data, fields.places["mac-a"][0])
    comment = "header is missing and header.2 is damaged."
    yield vault_case("header-missing-second-copy-damaged", {"header": None, "header.2": damaged}, comment)
    comment = "header is damaged and header.2 is missing."
    yield vault_case("header-damaged-second-copy-missing", {"header": damaged, "header.2": None}, comment)


def current_case(name, target, comment, expect="CORRUPT"):
    return vault_case("current-" + name, {"/current": target}, comment, expect)


def current_cases():
    yield current_case("missing", None, "There is an era with records and no `current`.")
    nothing = {"/current": None}
    making = base_files(bert=False) | nothing
    comment = "The making of the vault was interrupted before `current`."
    yield vector("not-found-without-current", "NOT_FOUND", comment, ANNA, making)
    comment = "The making of the vault was interrupted behind the keyfile."
    yield vector("not-found-keyfile-alone", "NOT_FOUND", comment, ANNA, nothing | {"keyfile": making["keyfile"]})
    yield vector("not-found-no-vault", "NOT_FOUND", "The directory is empty but for the lock.", ANNA, nothing)
    yield current_case("a-regular-file", b"era-1", "`current` is a regular file.")
    targets = {
        "empty-name": b"era-",
        "absolute": b"/era-1",
        "with-slash": b"era-1/",
        "with-dot": b"./era-1",
        "through-records": b"era-1/records/..",
        "leading-zero": b"era-01",
        "capital": b"Era-1",
        "with-plus": b"era-+1",
        "with-newline": b"era-1\n",
        "era-0": b"era-0",
        "to-records": b"era-1/records",
        "to-nothing": b"era-2",
        "to-20-digits": b"era-18446744073709551617",
        "beyond-the-last-era": b"era-9223372036854775808",
    }
    for name, target in targets.items():
        yield current_case(name, Link(target), f"The target of `current` is {target!r}.")
    moved = {"/era-01/" + path: content for path, content in base_files().items()}
    comment = "The target of `current` is a directory whose number has a leading zero."
    yield current_case("leading-zero-there", Link(b"era-01"), comment)
    yield vector("current-leading-zero-alone", "CORRUPT", comment, ANNA, moved | {"/current": Link(b"era-01")})
    comment = "`current` names a link to the era."
    yield vault_case("current-to-link", {"/current": Link(b"era-2"), "/era-2": Link(b"era-1")}, comment)
    comment = "`current` names a regular file."
    yield vault_case("current-to-file", {"/current": Link(b"era-2"), "/era-2": b""}, comment)


def beside(vault, items):
    """The files of an era that stands beside the one in force."""
    return {f"/{vault.folder()}{path}": content for path, content in era_files(vault, items=items).items()}


def era_cases():
    files = era_files(SECOND_ERA, items=[ANNA, BERT])
    yield vector("valid-second-era", "OK", "The second era is in force.", ANNA, files, also=ALSO_BERT, era=2)
    both = files | beside(VAULT, [ANNA])
    comment = "The second era is in force, and the first is not removed yet."
    yield vector("valid-second-era-first-left", "OK", comment, ANNA, both, also=ALSO_BERT, era=2)
    comment = "The second era is made and not in force yet."
    yield vault_case("valid-second-era-in-the-making", beside(SECOND_ERA, [BERT]), comment, "OK")
    rubbish = {"/era-2/making": b"", "/era-2/keyfile": b"TKKEY"}
    yield vault_case("valid-second-era-rubbish", rubbish, "The making of the second era ended early.", "OK")
    last = VaultPlan(era=LAST_ERA)
    comment = "The number of the era is the highest that there may be."
    yield vector("valid-era-of-19-digits", "OK", comment, ANNA, era_files(last, items=[ANNA]), era=LAST_ERA)
    comment = "The files of the first era stand in the second one's directory."
    yield vector("era-renamed", "CORRUPT", comment, ANNA, base_files(), era=2)
    old = era_files(VAULT)
    mixed = files | {"keyfile": old["keyfile"]}
    yield vector("era-with-first-keyfile", "CORRUPT", "The keyfile is the first era's.", ANNA, mixed, era=2)
    mixed = files | {"header": old["header"], "header.2": old["header.2"]}
    yield vector("era-with-first-header", "CORRUPT", "The header is the first era's.", ANNA, mixed, era=2)
    mixed = files | {path_of(ANNA, SECOND_ERA): RecordPlan(VAULT, ANNA).data()}
    comment = "Anna's record is the first era's, under her NAME in the second."
    yield vector("record-of-the-first-era", "CORRUPT", comment, ANNA, mixed, also=ALSO_BERT, era=2)
