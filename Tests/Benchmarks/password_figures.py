"""A load whose keys are in the kernel's keyring beside one whose keys the keyfile opens, and a sealed item beside a plain one."""
import os
import subprocess
from statistics import median

from harness import PREFIX, WORK, build, run, table
from private_keyring import PrivateKeyring, missing

REQUIRE_ENFORCED = 1


def tokenkeep(vault, *arguments, text):
    environment = {"PATH": os.environ["PATH"], "HOME": WORK, "XDG_CONFIG_HOME": WORK, "TOKENKEEP_VAULT": vault}
    subprocess.run([f"{PREFIX}/bin/tokenkeep", *arguments], env=environment, input=text, text=True, check=True)


def measure():
    program = build("password", "tokenkeep")
    measure_vault(program)
    measure_sealed(program)


def measure_vault(program):
    stack = "any required vault"
    keyfile, password = WORK + "/with-keyfile", WORK + "/with-password"
    for vault in (keyfile, password):
        run(program, stack, 0, TOKENKEEP_VAULT=vault)
    tokenkeep(password, "password", "set", "--stdin", text="bench\n")
    rounds = {keyfile: [], password: []}
    for _ in range(5):  # in turns: what the machine does meanwhile hits both
        for vault, figures in rounds.items():
            figures.append(run(program, stack, TOKENKEEP_VAULT=vault)["load", 1])
    tokenkeep(password, "lock", text="")
    plain, unlocked = (median(figures) for figures in rounds.values())
    table("A load, medians in microseconds", ["keyfile", "keys in the kernel", "difference"],
          [[f"{plain:.1f}", f"{unlocked:.1f}", f"{unlocked - plain:.1f}"]])


def measure_sealed(program):
    """An item as it is, and one that demands enforcement, which the vault seals before the keyring gets it."""
    if missing():
        return
    stack, demand = "any required secret-service", {"plain": 0, "sealed": REQUIRE_ENFORCED}
    vault = WORK + "/sealing"
    tokenkeep(vault, "password", "set", "--stdin", text="bench\n")
    rounds = {name: [] for name in demand}
    for name, flags in demand.items():
        with PrivateKeyring(f"{WORK}/keyring-{name}") as keyring:
            environment = {**keyring.environment, "TOKENKEEP_VAULT": vault}
            run(program, stack, flags, **environment)
            rounds[name] = [run(program, stack, **environment)["load", 1] for _ in range(5)]
    tokenkeep(vault, "lock", text="")
    plain, sealed = (median(figures) for figures in rounds.values())
    table("A load from gnome-keyring just after another, medians in microseconds", ["plain", "sealed", "difference"],
          [[f"{plain:.1f}", f"{sealed:.1f}", f"{sealed - plain:.1f}"]])
