"""A load whose keys are in the kernel's keyring beside one whose keys the keyfile opens."""
import os
import subprocess

from harness import PREFIX, WORK, build, run, table


def tokenkeep(vault, *arguments, text):
    environment = {"PATH": os.environ["PATH"], "HOME": WORK, "XDG_CONFIG_HOME": WORK, "TOKENKEEP_VAULT": vault}
    subprocess.run([f"{PREFIX}/bin/tokenkeep", *arguments], env=environment, input=text, text=True, check=True)


def measure():
    program = build("password", "tokenkeep")
    keyfile, password = WORK + "/with-keyfile", WORK + "/with-password"
    for vault in (keyfile, password):
        run(program, 1, TOKENKEEP_VAULT=vault)
    tokenkeep(password, "password", "set", "--stdin", text="bench\n")
    rounds = {keyfile: [], password: []}
    for _ in range(5):  # in turns: what the machine does meanwhile hits both
        for vault, figures in rounds.items():
            figures.append(run(program, 0, TOKENKEEP_VAULT=vault)["load", 1])
    tokenkeep(password, "lock", text="")
    plain, unlocked = (sorted(figures)[2] for figures in rounds.values())
    table("A load, medians in microseconds", ["keyfile", "keys in the kernel", "difference"],
          [[f"{plain:.1f}", f"{unlocked:.1f}", f"{unlocked - plain:.1f}"]])
