"""What a device slot costs: an unlock with and without one, and loads of the levels with and without the device."""
import os
import subprocess
import time
from statistics import median

from harness import PREFIX, WORK, build, run, table
from tpm_figures import machine

ROUNDS = 15
STACK = "any required vault"


class Vault:
    """A vault with a password; with a device, bound to the TPM of a helper."""

    def __init__(self, name, helper, program, *device):
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": WORK, "XDG_CONFIG_HOME": WORK, "TOKENKEEP_VAULT": f"{WORK}/{name}",
            "TOKENKEEP_TPM2_SOCKET": helper.path}
        self.program = program
        self.tokenkeep("password", "set", "--stdin")
        if device:
            self.tokenkeep("device", "choose", "tpm2", "--stdin")
        run(program, STACK, 0, *device, **self.environment)

    def tokenkeep(self, *arguments):
        subprocess.run([f"{PREFIX}/bin/tokenkeep", *arguments], env=self.environment, input="bench\n", text=True, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def unlock(self):
        """The milliseconds of a whole process."""
        self.tokenkeep("lock")
        began = time.perf_counter()
        self.tokenkeep("unlock", "--stdin")
        return (time.perf_counter() - began) * 1000

    def load(self):
        return run(self.program, STACK, **self.environment)["load", 1]


def measure():
    with machine("A device slot") as found:
        if found is None:
            return
        world, _, helper = found
        program = build("password", "tokenkeep")
        vaults = [Vault("without-device", helper, program), Vault("with-device", helper, program, "device")]
        client, key = helper.client(), world.Key()
        blob = client.learn().seal(key).payload
        unlocks, loads, unseals = ([], []), ([], []), []
        for _ in range(ROUNDS):  # in turns: what the machine does meanwhile hits both
            for vault, figures in zip(vaults, unlocks):
                figures.append(vault.unlock())
            began = time.perf_counter()
            client.unseal(key, blob)
            unseals.append((time.perf_counter() - began) * 1000)
        for _ in range(5):
            for vault, figures in zip(vaults, loads):
                figures.append(vault.load())
        for vault in vaults:
            vault.tokenkeep("lock")
        without, bound = (median(figures) for figures in unlocks)
        table(f"An unlock, a whole process, milliseconds, {ROUNDS} rounds",
              ["without a device", "with a TPM", "difference", "an unseal by the helper"],
              [[f"{without:.1f}", f"{bound:.1f}", f"{bound - without:.1f}", f"{median(unseals):.1f}"]])
        second, fourth = (median(figures) for figures in loads)
        table("A load, medians in microseconds", ["after-first-unlock", "the same, this device only"],
              [[f"{second:.1f}", f"{fourth:.1f}"]])
