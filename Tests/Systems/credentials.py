#!/usr/bin/env python3
"""A unit of systemd without a login unlocks the vault by a credential, as docs/tools.md says. Usage: credentials.py BUILD [NAME…]

BUILD is what `cmake --install` installs. NAMEs choose cases."""

import re, sys

from machine import HERE, Machine, case, check, run_cases

VAULT_PASSWORD = "the vault's password"
REQUEST = "protocol=https\nhost=example.com\n\n"
RESULT = "/run/test-result"


def recipe():
    """The command that encrypts the password, the unit, and the setting that does without encryption."""
    text = (HERE.parent.parent / "docs/tools.md").read_text().split("## Units of systemd, and cron\n")[1]
    command = re.search(r"`(systemd-creds encrypt [^`]*)`", text).group(1)
    plain = re.search(r"`(LoadCredential=[^`]*)`", text).group(1)
    return command, re.search(r"^```ini\n(.*?)^```", text, flags=re.M | re.S).group(1), plain


def set_up(machine):
    """A vault with a password, which is locked, and git with our helper."""
    # git looks at its working directory, which the user must be able to enter.
    git = ("env", "--chdir", f"/home/{machine.user}", "git")
    machine.must(*git, "config", "--global", "credential.helper", "tokenkeep", as_user=True)
    machine.must(*git, "credential", "approve", as_user=True, input=(
        REQUEST.strip() + "\nusername=ann\npassword=s3cret\n\n").encode())
    machine.must("tokenkeep", "password", "set", "--stdin", as_user=True, input=f"{VAULT_PASSWORD}\n".encode())
    command, _, _ = recipe()
    machine.must("mkdir", "-p", "-m", "700", "/etc/credstore.encrypted")
    machine.must(*command.split(), input=VAULT_PASSWORD.encode())
    machine.must("sh", "-c", "umask 077 && cat > /root/tokenkeep.password",
                 input=f"{VAULT_PASSWORD}\n".encode())
    machine.must("sh", "-c", "cat > /run/test-request", input=REQUEST.encode())


def fill(machine, unit):
    """The exit code, the output and the errors of git in the unit, with a locked vault."""
    machine.tokenkeep("lock")
    unit = unit.replace("User=ann", f"User={machine.user}")
    unit = re.sub(r"^ExecStart=.*$", "ExecStart=git credential fill", unit, flags=re.M)
    machine.must("sh", "-c", "cat > /run/systemd/system/test-mirror.service", input=(
        f"{unit}Type=oneshot\nEnvironment=GIT_TERMINAL_PROMPT=0\nStandardInput=file:/run/test-request\n"
        f"StandardOutput=truncate:{RESULT}\nStandardError=truncate:{RESULT}.errors\n").encode())
    machine.must("systemctl", "daemon-reload")
    started = machine.run("systemctl", "start", "test-mirror.service")
    return started.returncode, machine.must("cat", RESULT), machine.must("cat", f"{RESULT}.errors")


@case
def a_unit_gets_the_password_that_is_encrypted(machine):
    _, unit, _ = recipe()
    code, output, errors = fill(machine, unit)
    check(code == 0 and "password=s3cret\n" in output, f"{code} {output} {errors}")


@case
def a_unit_gets_the_password_of_a_plain_file(machine):
    _, unit, plain = recipe()
    code, output, errors = fill(machine, re.sub(r"^LoadCredentialEncrypted=.*$", plain, unit, flags=re.M))
    check(code == 0 and "password=s3cret\n" in output, f"{code} {output} {errors}")


@case
def a_unit_without_the_credential_is_told_to_unlock(machine):
    _, unit, _ = recipe()
    code, output, errors = fill(machine, re.sub(r"^(LoadCredential|Environment=TOKENKEEP).*\n", "", unit, flags=re.M))
    check(code != 0 and "password" not in output and "tokenkeep unlock" in errors, f"{code} {output} {errors}")


def main():
    build, *names = sys.argv[1:]
    cases = [(name, body) for name, body in globals().items() if getattr(body, "is_case", False)]
    return run_cases("credentials of systemd", cases, names, lambda: Machine(build), set_up)


if __name__ == "__main__":
    sys.exit(main())
