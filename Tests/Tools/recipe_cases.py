"""Every block of commands in docs/tools.md runs, as it stands there, in bash."""
import os
import re

from servers import crate_registry
from setup_cases import keyring
from world import HERE, cases, has, same

# What each section's program prints.
TOKEN = "s3cret-token"
EXPECTED = {
    "podman, skopeo, buildah": "ann\n", "terraform, OpenTofu": "", "aws": "custom-process", "restic": "",
    "pnpm and Claude Code": f"{TOKEN}\n", "Bazel, and what else speaks its protocol": f'"Bearer {TOKEN}"',
    "kubectl": 'User "prod" set.', "A token in kubectl's file": f"\n0\n{TOKEN}", "docker": "docker: ", "git": "git: ", "cargo": "cargo: ", "borg": "", "rclone": "",
    "ansible": "a: 1\n", "msmtp": "", "Everyday tools": "", "pip and uv": "python: ", "npm and yarn": "https://registry.npmjs.org/", "gh": f"{TOKEN}\n",
}
PROGRAMS = {
    "podman, skopeo, buildah": "skopeo", "terraform, OpenTofu": "terraform", "kubectl": "kubectl",
    "A token in kubectl's file": "kubectl", "aws": "aws",
    "restic": "restic", "borg": "borg", "rclone": "rclone", "ansible": "ansible-vault", "msmtp": "msmtp", "cargo": "cargo",
    "pip and uv": "keyring", "npm and yarn": "npm", "gh": "gh",
}


def recipes():
    """The blocks of the document: {heading: text}."""
    with open(os.path.join(HERE, "..", "..", "docs", "tools.md"), encoding="utf-8") as file:
        document = file.read()
    found = {}
    for part in re.split(r"^#+ ", document, flags=re.M)[1:]:
        heading, _, body = part.partition("\n")
        for block in re.findall(r"^```sh\n(.*?)^```", body, flags=re.M | re.S):
            found[heading] = block
    return found


def run_recipe(world, heading, text):
    home = os.environ["HOME"]
    environment = {
        "TOKEN": TOKEN, "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", f"{home}/.rustup"), "CHECKPOINT_DISABLE": "1",
        "PYENV_ROOT": os.environ.get("PYENV_ROOT", f"{home}/.pyenv"), "BORG_RELOCATED_REPO_ACCESS_IS_OK": "yes"}
    # A question is answered before it is asked: there is no terminal.
    text = re.sub(r"^(tokenkeep setup(?: --undo)?) .*$", r"\1 --yes", text, flags=re.M) if heading == "Everyday tools" else text
    if heading == "pip and uv":
        keyring(world)
    with crate_registry() as registry:
        registry.tokens.add(TOKEN)
        environment["CARGO_REGISTRIES_EXAMPLE_INDEX"] = f"sparse+{registry.address}/index/"
        told = world.run("bash", "-euo", "pipefail", "-c", text, env=environment)
    has(told.out, EXPECTED[heading])
    assert TOKEN not in told.err, told.err


def recipe(heading, text):
    """A case for one block."""
    def case(world):
        run_recipe(world, heading, text)

    case.__name__ = "the recipe of " + re.sub("[, ]+", " ", heading)
    case.needs = [PROGRAMS[heading]] if heading in PROGRAMS else []
    return case


def every_recipe_has_its_expectation(_):
    same(set(recipes()), set(EXPECTED))


def a_unit_reads_the_vault_by_a_credential(world):
    with open(os.path.join(HERE, "..", "..", "docs", "tools.md"), encoding="utf-8") as file:
        unit = re.search(r"^```ini\n(.*?)^```", file.read(), flags=re.M | re.S).group(1)
    variable, _, value = re.search(r"^Environment=(.*)$", unit, flags=re.M).group(1).partition("=")
    name = re.search(r"^LoadCredentialEncrypted=(.*)$", unit, flags=re.M).group(1)
    world.run("git-credential-tokenkeep", "store", input="protocol=https\nhost=h\nusername=ann\npassword=p\n")
    world.lock()
    # systemd puts the credential into a folder of the unit's, which nobody else may read.
    os.mkdir(world.path("credentials"), 0o500)
    os.chmod(world.path("credentials"), 0o700)
    os.rename(world.password, world.path(f"credentials/{name}"))
    os.chmod(world.path(f"credentials/{name}"), 0o400)
    told = world.run("git-credential-tokenkeep", "get", input="protocol=https\nhost=h\n",
                     env={variable: value.replace("%d", world.path("credentials"))})
    has(told.out, "password=p\n")


def the_helpers_links_are_those_of_the_document(world):
    with open(os.path.join(HERE, "..", "..", "docs", "tools.md"), encoding="utf-8") as file:
        named = set(re.findall(r"^\| .*? \| `([a-z]+-[a-z-]*tokenkeep)\b", file.read(), flags=re.M))
    links = {name for name in os.listdir(world.bin) if os.path.islink(os.path.join(world.bin, name)) and
             os.path.basename(os.readlink(os.path.join(world.bin, name))) == "tokenkeep-credential"}
    same(named, links - {"tokenkeep-credential"})


CASES = [recipe(heading, text) for heading, text in recipes().items() if heading in EXPECTED]
CASES += cases(globals(), recipes, run_recipe, recipe, crate_registry, keyring, has, same)
