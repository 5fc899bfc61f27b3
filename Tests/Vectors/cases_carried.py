"""Files of an earlier era that no key opened, sealed whole. Under the NAME of an item they are damage of this item alone."""

from dataclasses import replace

from cases_common import ALSO_BERT, ANNA, VAULT, base_files, path_of, vector
from cases_sealed import SealedPlan
from record_writer import RecordPlan
from vault_writer import VaultPlan, new_key

DAMAGED = RecordPlan(VaultPlan("an earlier era"), ANNA).data()[:-1]


class CarriedPlan(SealedPlan):
    """The file that holds `content`."""

    def __init__(self, content, class_key=None, **prefix):
        item = replace(ANNA, secret=content, **({"level": prefix["level"]} if "level" in prefix else {}))
        own = {"kind": 4, "name": bytes.fromhex(VAULT.name_of(*ANNA.names()))}
        super().__init__(VAULT, item, class_key or VAULT.class_keys[2], **(own | prefix))


def case(name, data, comment, carried=None):
    files = base_files() | {path_of(ANNA): data}
    return vector("record-carried-over" + name, "CORRUPT", comment, ANNA, files, also=ALSO_BERT, carried=carried)


def cases():
    contents = {"": DAMAGED, "-nothing": b"", "-rubbish": bytes(range(256)), "-right-record": RecordPlan(VAULT, ANNA).data()}
    for word, content in contents.items():
        comment = f"A file of {len(content)} bytes is carried over."
        yield case(word, CarriedPlan(content).data(), comment, content)
    within = CarriedPlan(DAMAGED).data()
    yield case("-twice", CarriedPlan(within).data(), "What was carried over is carried over.", within)
    aside = base_files() | {path_of(ANNA) + ".corrupt-1": CarriedPlan(DAMAGED).data()}
    comment = "A file that was set aside is carried over: there is no such item."
    yield vector("not-found-carried-over-aside", "NOT_FOUND", comment, ANNA, aside, also=ALSO_BERT)
    wrong = {
        "-level-1": {"level": 1, "class_key": VAULT.class_keys[1]},
        "-flags-1": {"flags": 1},
        "-era-2": {"era": 2},
        "-with-metadata-key-id": {"metadata_key_id": VAULT.metadata_key.key_id},
        "-unknown-class-key": {"class_key": new_key("a lost class key", 2)},
        "-name-of-another": {"name": bytes(16)},
        "-kind-3": {"kind": 3},
    }
    for word, changes in wrong.items():
        comment = f"A file is carried over with another {next(iter(changes)).replace('_', ' ')}, and the box is sealed for it."
        yield case(word, CarriedPlan(DAMAGED, **changes).data(), comment)
    plan = CarriedPlan(DAMAGED)
    lengths = {"state_length": 40, "metadata_length": 40, "secret_length": len(plan.secret_box) + 1, "last_reserved": 1}
    for field, value in lengths.items():
        yield case("-" + field.replace("_", "-"), plan.data(**{field: value}), f"The field {field.replace('_', ' ')} is {value}.")
    yield case("-truncated", plan.data()[:-1], "A file that is carried over lacks its last byte.")
