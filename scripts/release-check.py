#!/usr/bin/env python3
"""Says what is missing before a tag is made: agreeing versions, a clean tree, a changelog, an unchanged ABI or a new version of
its symbols, and an entry of the changelog for each changed public header.

Usage: release-check.py [TREE]
"""

import re
import subprocess
import sys
from pathlib import Path

TREE = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
TAG = re.compile(r"\d+\.\d+\.\d+")


def git(*arguments):
    return subprocess.run(["git", "-C", TREE, *arguments], capture_output=True, text=True, check=False, timeout=60).stdout


def read(path):
    return (TREE / path).read_text(encoding="utf-8")


def version():
    return re.search(r'define TOKENKEEP_VERSION +"([^"]+)"', read("include/tokenkeep/version.h"))[1]


def previous():
    """The tag of the release before, or None."""
    tags = [tag for tag in git("tag", "--merged", "HEAD", "--sort=-version:refname").split() if TAG.fullmatch(tag)]
    return next((tag for tag in tags if tag != version()), None)


def section():
    """What the changelog says of this version, with its title."""
    found = re.search(rf"^## {re.escape(version())}\b.*?(?=^## |\Z)", read("CHANGELOG.md"), re.M | re.S)
    return found[0] if found else ""


def version_problems():
    number = version()
    parts = [re.search(rf"define TOKENKEEP_VERSION_{part} +(\d+)", read("include/tokenkeep/version.h"))[1]
             for part in ("MAJOR", "MINOR", "PATCH")]
    if number != ".".join(parts):
        yield f"include/tokenkeep/version.h: {number} is not {'.'.join(parts)}"
    whole = int(parts[0]) * 10**6 + int(parts[1]) * 1000 + int(parts[2])
    if not re.search(rf"define TOKENKEEP_VERSION_NUMBER +{whole}$", read("include/tokenkeep/version.h"), re.M):
        yield f"include/tokenkeep/version.h: TOKENKEEP_VERSION_NUMBER is not {whole}"
    numbers = {"debian/changelog": r"^tokenkeep \(([^)]+)-\d+\)", "packaging/tokenkeep.spec": r"^Version: +(.+)$",
               "python/pyproject.toml": r'^version = "([^"]+)"'}
    for path, pattern in numbers.items():
        match = re.search(pattern, read(path), re.M)
        if not match or match[1] != number:
            yield f"{path} has the version {match[1] if match else 'none'}, not {number}"
    if "UNRELEASED" in read("debian/changelog").split("\n", 1)[0]:
        yield "debian/changelog is UNRELEASED"


def tag_problems():
    number = version()
    at_head = [tag for tag in git("tag", "--points-at", "HEAD").split() if TAG.fullmatch(tag)]
    if at_head and number not in at_head:
        yield f"the commit has the tag {at_head[0]}, not {number}"
    if not at_head and number in git("tag", "--list").split():
        yield f"the tag {number} is at another commit: raise the version"
    if git("status", "--porcelain"):
        yield "the tree has changes: commit them, or remove them"


def changelog_problems():
    title = section().split("\n", 1)[0]
    if not title:
        yield f"CHANGELOG.md has no section {version()}"
    elif "not released" in title:
        yield f"CHANGELOG.md: \"{title}\" needs the date of the release"


def exports(text):
    return dict(line.split() for line in text.splitlines() if line and not line.startswith("#"))


def interface_problems(before):
    """What the release before exported stays as it was; what is new has a version of its own."""
    old = exports(git("show", f"{before}:Tests/ABI/symbols.txt"))
    new = exports(read("Tests/ABI/symbols.txt"))
    for name, node in old.items():
        if new.get(name) != node:
            yield f"{name} of {before} is {'gone' if name not in new else 'in ' + new[name]}: a new soname is needed"
    for name in sorted(set(new) - set(old)):
        if new[name] in old.values():
            yield f"{name} is new and in {new[name]}, which {before} has: give it a new version"
    changed = [path for path in git("diff", "--name-only", before, "--", "include").split() if path.endswith(".h")]
    for path in changed:
        if path.endswith("/version.h"):
            continue
        lines = [line for line in git("diff", before, "--", path).splitlines() if re.match(r"[-+][^-+]", line)]
        words = set(re.findall(r"\b(?:tokenkeep|TOKENKEEP)_\w+", "\n".join(lines)))
        if Path(path).name not in section() and not any(word in section() for word in words):
            yield f"CHANGELOG.md: {version()} has no entry for the change of {path}"


def main():
    problems = [*version_problems(), *tag_problems(), *changelog_problems()]
    before = previous()
    if before:
        problems += interface_problems(before)
    for problem in problems:
        print(f"release-check: {problem}", file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"release-check: {version()} after {before or 'no release'}: versions, tree, changelog and interface agree")


if __name__ == "__main__":
    main()
