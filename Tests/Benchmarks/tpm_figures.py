"""Sealing with the TPM beside tpm2-tools and clevis, on one software TPM in one run. Real TPMs are slower."""
import contextlib
import importlib.util
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time

from harness import PREFIX, table

ROUNDS = 30
TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "TPM")


def world_of_tests():
    specification = importlib.util.spec_from_file_location("tpm_world", os.path.join(TESTS, "world.py"))
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def milliseconds(action, after=None):
    """The median, and the worst of nine in ten."""
    found = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        action()
        found.append((time.perf_counter() - began) * 1000)
        if after is not None:
            after()
    return f"{statistics.median(found):.1f}", f"{sorted(found)[ROUNDS * 9 // 10]:.1f}"


def ours(caller, key):
    blob = caller.learn().seal(key).payload
    index = int.from_bytes(caller.make(key).payload, "big")
    rows = [
        ["seal", *milliseconds(lambda: caller.seal(key))],
        ["unseal", *milliseconds(lambda: caller.unseal(key, blob))],
        ["read an index", *milliseconds(lambda: caller.read(key, index))],
    ]
    assert caller.unseal(key, blob).payload == key.secret
    caller.destroy(key, index)
    return rows


def tools(tpm):
    environment = {**os.environ, "TPM2TOOLS_TCTI": tpm.tcti}

    def run(*words):
        subprocess.run(words, cwd=tpm.directory, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def create():
        run("tpm2_create", "-C", "0x81000001", "-p", "hex:" + "ab" * 32, "-i", "secret", "-u", "o.pub", "-r", "o.priv")

    def unseal():
        run("tpm2_load", "-C", "0x81000001", "-u", "o.pub", "-r", "o.priv", "-c", "o.ctx")
        run("tpm2_unseal", "-c", "o.ctx", "-p", "hex:" + "ab" * 32)

    def clevis(direction, source, destination):
        with open(f"{tpm.directory}/{source}", "rb") as given, open(f"{tpm.directory}/{destination}", "wb") as taken:
            words = ["clevis", direction] + (["tpm2", "{}"] if direction == "encrypt" else [])
            subprocess.run(words, env=environment, check=True, stdin=given, stdout=taken, stderr=subprocess.DEVNULL)

    def flush():
        tpm.tool("tpm2_flushcontext", "-t")

    with open(f"{tpm.directory}/secret", "wb") as file:
        file.write(os.urandom(32))
    rows = [["tpm2_create", *milliseconds(create, flush)], ["tpm2_load, tpm2_unseal", *milliseconds(unseal, flush)]]
    if shutil.which("clevis-encrypt-tpm2"):
        rows += [["clevis encrypt tpm2", *milliseconds(lambda: clevis("encrypt", "secret", "jwe"), flush)],
                 ["clevis decrypt", *milliseconds(lambda: clevis("decrypt", "jwe", "clear"), flush)]]
    else:
        rows.append(["clevis", "not installed", "-"])
    return rows


def peak_of_children(action):
    """The most memory that a process of the action had, in MB; in a process of its own, whose children it counts."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        action()
        os.write(writer, str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as file:
        return file.read()


def proportional(process):
    with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024


@contextlib.contextmanager
def machine(title):
    """The module of the tests' world, a software TPM and the helper at it; None if the machine cannot have them."""
    program = f"{PREFIX}/libexec/tokenkeep/tokenkeep-tpm2"
    if not os.path.exists(program) or shutil.which("swtpm") is None or os.geteuid() != 0:
        print(f"\n{title}: tokenkeep-tpm2, swtpm or root are missing", file=sys.stderr)
        yield None
        return
    world = world_of_tests()
    tpm = world.SoftwareTPM()
    helper = world.Helper(program, tpm.tcti)
    try:
        yield world, tpm, helper
    finally:
        helper.close()
        tpm.close()


def measure():
    with machine("Sealing with the TPM") as found:
        if found is None:
            return
        world, tpm, helper = found
        program, key = helper.program, world.Key()
        once, client = world.Once(program, tpm.tcti), helper.client()
        rows = [[f"{what}, {way}, primary created", *figures] for way, caller in (("direct", once), ("helper", client))
                for what, *figures in ours(caller, key)]
        tpm.make_srk("-G", "ecc")
        rows += [[f"{what}, {way}, persistent SRK", *figures] for way, caller in (("direct", once), ("helper", client))
                 for what, *figures in ours(caller, key)]
        rows += tools(tpm)
        table(f"Sealing with a software TPM, milliseconds, {ROUNDS} rounds", ["what", "median", "nine in ten below"], rows)
        peak, waiting = peak_of_children(lambda: once.seal(key)), proportional(helper.process.pid)
        table("Memory of tokenkeep-tpm2, MB", ["what", "MB"], [
            ["a request, peak, with libraries that other programs share", peak],
            ["the helper that waits on its socket, proportional", f"{waiting:.1f}"]])
