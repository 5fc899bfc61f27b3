"""What replacing all keys costs: its time, its memory, and how long another process's save waits. An unlock beside Argon2id."""
import ctypes
import ctypes.util
import os
import shutil
import subprocess
import time
from statistics import median

from harness import PREFIX, WORK, build, filled_vault, pkg_config, run, table

SIZES = [10_000, 100_000]
PASSES, KIB = 3, 65536


def environment(vault):
    return {
        "PATH": os.environ["PATH"], "HOME": WORK, "XDG_CONFIG_HOME": WORK, "TOKENKEEP_VAULT": vault,
        "LD_LIBRARY_PATH": pkg_config("--variable=libdir", "tokenkeep")[0]}


def tokenkeep(vault, *arguments, text=""):
    """Seconds, and the peak of its memory in MiB."""
    start = time.monotonic()
    process = subprocess.Popen(
        [f"{PREFIX}/bin/tokenkeep", *arguments], env=environment(vault), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    process.stdin.write(text.encode())
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{arguments}: exit code {process.returncode}"
    return time.monotonic() - start, usage.ru_maxrss / 1024


def change(vault, writer, *arguments, text):
    """Seconds and MiB of a change, and microseconds of another process's saves meanwhile: the median and the longest."""
    process = subprocess.Popen([writer], env=environment(vault), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    seconds, peak = tokenkeep(vault, *arguments, text=text)
    output, _ = process.communicate()
    assert process.returncode == 0, "a save failed meanwhile"
    figures = {line.split()[0]: float(line.split()[2]) for line in output.splitlines()}
    return seconds, peak, figures["median"], figures["longest"]


def measure_eras():
    fill, writer = build("vault", "tokenkeep"), build("era-writer", "tokenkeep")
    rows = []
    for items in SIZES:
        vault = filled_vault(fill, items)
        if vault is None:
            continue
        for name, arguments, text in (
                ("password set", ("password", "set"), "one\n"),
                ("change --compromised", ("password", "change", "--compromised"), "one\ntwo\n"),
                ("password remove", ("password", "remove"), "two\n")):
            seconds, peak, usual, longest = change(vault, writer, *arguments, "--stdin", text=text)
            rows.append([
                name, items, f"{seconds:.2f}", f"{seconds / items * 1e6:.0f}", f"{peak:.0f}", f"{usual / 1000:.1f}",
                f"{longest / 1000:.0f}"])
        shutil.rmtree(vault)
    table("A new era, while another process saves one item after the other (its longest wait: at most 500 ms at 10 000 items)",
          ["", "items", "seconds", "us/item", "peak MiB", "a save, ms", "the longest, ms"], rows)


def argon2id():
    """Seconds of the derivation alone, in libsodium's words."""
    sodium = ctypes.CDLL(ctypes.util.find_library("sodium"))
    out, salt = ctypes.create_string_buffer(64), bytes(16)
    start = time.monotonic()
    failed = sodium.crypto_pwhash(
        out, ctypes.c_ulonglong(64), b"bench", ctypes.c_ulonglong(5), salt, ctypes.c_ulonglong(PASSES),
        ctypes.c_size_t(KIB * 1024), 2)
    assert failed == 0
    return time.monotonic() - start


def measure_unlock():
    vault = WORK + "/unlocking"
    tokenkeep(vault, "password", "set", "--stdin", text="bench\n")
    bare, unlock, nothing, peaks = [], [], [], []
    for _ in range(15):  # in turns: what the machine does meanwhile hits all
        bare.append(argon2id())
        seconds, peak = tokenkeep(vault, "unlock", "--stdin", text="bench\n")
        unlock.append(seconds)
        peaks.append(peak)
        nothing.append(tokenkeep(vault, "status")[0])
    tokenkeep(vault, "lock")
    figures = [median(values) * 1000 for values in (bare, unlock, nothing)]
    table("An unlock, medians in milliseconds (whole processes but for the first)",
          ["Argon2id alone", "tokenkeep unlock", "tokenkeep status", "unlock/Argon2id", "peak MiB"],
          [[*(f"{figure:.1f}" for figure in figures), f"{figures[1] / figures[0]:.2f}", f"{max(peaks):.0f}"]])


def measure():
    measure_unlock()
    measure_eras()
