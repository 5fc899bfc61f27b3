"""Many processes, some without a bus, on one item of a real gnome-keyring."""
from faults import PATIENCE, case
from keyring_cases import Keyring, drain, without_bus

OPERATIONS = 200


class Operation:
    def __init__(self, line):
        start, end, self.kind, self.status, *value = line.split()
        self.start, self.end = int(start), int(end)
        self.value = value[0] if value else None

    def __str__(self):
        return f"{self.kind} {self.value} {self.status} from {self.start} to {self.end}"


def check_history(operations):
    """No load gives a value that was replaced before it began, by a save that was acknowledged before it began."""
    saves = {one.value: one for one in operations if one.kind == "save"}
    acknowledged = sorted((one for one in saves.values() if one.status == "OK"), key=lambda one: one.end)
    loads = sorted((one for one in operations if one.kind == "load" and one.status == "OK"), key=lambda one: one.start)
    for load in loads:
        save = saves[load.value]
        assert save.start < load.end, f"{load} before {save}"
        for other in acknowledged:
            if other.end >= load.start:
                break
            assert not save.end < other.start, f"{load}: {other} had replaced it"
    # Once a load has returned a value, no later load returns an older one.
    for index, load in enumerate(loads):
        for later in loads[index + 1:]:
            if load.end < later.start:
                assert not saves[later.value].end < saves[load.value].start, f"{later} after {load}"


@case
def eight_processes_half_without_a_bus_see_what_was_acknowledged():
    with Keyring() as keyring:
        vault = keyring.vault()
        assert vault.run("save", "a", "start-0") == ["OK"]
        users = [vault if number % 2 else without_bus(vault) for number in range(8)]
        processes = [user.start("crowd", "a", OPERATIONS, f"p{number}") for number, user in enumerate(users)]
        operations = [Operation("0 1 save OK start-0")]
        for process in processes:
            lines = process.communicate(timeout=PATIENCE)[0].splitlines()
            assert len(lines) == OPERATIONS, lines[-3:]
            operations += [Operation(line) for line in lines]
        statuses = {(one.kind, one.status) for one in operations}
        assert statuses <= {("save", "OK"), ("load", "OK"), ("load", "UNAVAILABLE")}, statuses
        check_history(operations)
        last = max((one for one in operations if one.kind == "save"), key=lambda one: one.end)
        rivals = [one.value for one in operations if one.kind == "save" and one.end > last.start]
        found = vault.expect("a", *rivals)
        drain(vault, "a", found)
        assert keyring.look_up("a") == found
