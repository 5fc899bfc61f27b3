#!/usr/bin/env python3
"""What is written in several places for packagers says the same: Build-Depends and the list of dependencies, the symbols file
and the list of exports, the version. Each dependency has a word why, and each pinned package a licence."""

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# In build-essential, in debhelper's compatibility level and sequences, or needed by a clone alone.
ELSEWHERE = {"make", "gcc", "g++", "dpkg-dev", "xz-utils", "git", "ca-certificates"}
RENAMED = {"debhelper": "debhelper-compat", "dh-python": "dh-sequence-python3"}


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def dependencies():
    """Purpose, package and reason of each line of scripts/dependencies.txt."""
    for line in read("scripts/dependencies.txt").splitlines():
        if not line.startswith("#"):
            purpose, package, *reason = line.split(maxsplit=2)
            yield purpose, package, reason


def build_depends_problems():
    listed = {RENAMED.get(package, package) for purpose, package, _ in dependencies() if purpose in ("build", "package")}
    field = re.search(r"^Build-Depends:((?:\n .*)+)", read("debian/control"), re.M)
    named = {entry.split()[0] for entry in field[1].replace("\n", " ").split(",")}
    # The linker of swift build, which install-dependencies.sh looks for by the name of its program.
    named.discard("binutils-gold")
    for package in sorted(listed - ELSEWHERE - named):
        yield f"debian/control: Build-Depends has no {package}, which scripts/dependencies.txt lists"
    for package in sorted(named - listed):
        yield f"debian/control: {package} of Build-Depends is not in scripts/dependencies.txt"
    for purpose, package, reason in dependencies():
        if not reason:
            yield f"scripts/dependencies.txt: {purpose} {package} has no word why"


def symbols_problems():
    expected = set()
    for line in read("Tests/ABI/symbols.txt").splitlines():
        if line and not line.startswith("#"):
            name, node = line.split()
            expected.add(f"{name}@{node} {node.removeprefix('TOKENKEEP_')}.0")
    found = {line[1:] for line in read("debian/libtokenkeep0.symbols").splitlines() if line.startswith(" ")}
    for line in sorted(expected - found):
        yield f"debian/libtokenkeep0.symbols lacks {line}"
    for line in sorted(found - expected):
        yield f"debian/libtokenkeep0.symbols has {line}, which Tests/ABI/symbols.txt has not"


def container_problems():
    listed = {package for purpose, package, _ in dependencies() if purpose in ("build", "package")}
    recipe = read("packaging/Containerfile").split("\nFROM")[1].replace("\\\n", " ")
    installed = set(re.search(r"--no-install-recommends(.*)", recipe)[1].split())
    # g++ brings gcc, dpkg-dev brings make; the tarball needs no git.
    for package in sorted(listed - installed - {"gcc", "make", "git", "ca-certificates"}):
        yield f"packaging/Containerfile does not install {package}"


def versions():
    """The version, by the place that names it."""
    numbers = {"include/tokenkeep/version.h": r'define TOKENKEEP_VERSION +"([^"]+)"', "CHANGELOG.md": r"^## (\d[^ ]*)",
               "debian/changelog": r"^tokenkeep \(([^)]+)-\d+\)", "packaging/tokenkeep.spec": r"^Version: +(.+)$",
               "python/pyproject.toml": r'^version = "([^"]+)"'}
    for path, pattern in numbers.items():
        match = re.search(pattern, read(path), re.M)
        yield path, match[1] if match else "none"


def version_problems():
    places = dict(versions())
    wanted = places["include/tokenkeep/version.h"]
    for path, version in places.items():
        if version != wanted:
            yield f"{path} has the version {version}, include/tokenkeep/version.h {wanted}"


def pin_problems():
    for line in read("packaging/swift-packages.txt").splitlines():
        if line.startswith("#"):
            continue
        name, version, revision, _ = line.split()
        if not re.fullmatch(r"[0-9a-f]{40}", revision):
            yield f"packaging/swift-packages.txt: {name} has no revision"
        least = re.search(rf'dependency\("{name}", from: "([^"]+)"\)', read("Package.swift"))
        if not least or [int(n) for n in version.split(".")] < [int(n) for n in least[1].split(".")]:
            yield f"packaging/swift-packages.txt: {name} {version} is not what Package.swift asks for"


def unit_problems():
    """Each unit lies in one Debian package and one RPM package."""
    debian = [line.rsplit("/", 1)[-1] for path in sorted((ROOT / "debian").glob("*.install"))
              for line in path.read_text(encoding="utf-8").split() if "/systemd/user/" in line]
    spec = [line.rsplit("/", 1)[-1] for line in read("packaging/tokenkeep.spec").splitlines() if "/systemd/user/" in line]
    system = ("tokenkeep-tpm2", "tokenkeep-purge")  # both lists have the directory
    for path in sorted((ROOT / "data/systemd").iterdir()):
        name = path.name.removesuffix(".in")
        if not name.endswith((".service", ".socket", ".target")) or name.startswith(system):
            continue
        for place, patterns in (("debian/*.install", debian), ("packaging/tokenkeep.spec", spec)):
            if sum(fnmatch(name, pattern) for pattern in patterns) != 1:
                yield f"{place}: {name} is in {sum(fnmatch(name, pattern) for pattern in patterns)} packages"


def linking_problems():
    """SwiftPM knows neither the linker's scripts nor the copies of archives: a product that is there is not linked again."""
    products = 0
    for path in [ROOT / "CMakeLists.txt", *sorted((ROOT / "cmake").glob("*.cmake"))]:
        lines = path.read_text(encoding="utf-8").splitlines()
        for before, line in zip(lines, lines[1:]):
            if match := re.search(r"COMMAND \$\{swift_build\} --product (\S+)", line):
                products += 1
                if not re.search(rf"-E rm -f \$\{{release\}}/(lib)?{match[1]}(\.a)?$", before):
                    yield f"{path.relative_to(ROOT)}: {match[1]} is not removed before swift build"
    if products < 4:
        yield f"CMake builds {products} products of SwiftPM, not 4"


def debug_problems():
    """The RPM packages keep the debug symbols of each file that CMake links itself; separate-debug.sh keeps those of Swift."""
    install = read("packaging/tokenkeep.spec").split("\n%install")[1].split("\n%files")[0].replace("\\\n", " ")
    kept = " ".join(re.findall(r"^packaging/keep-debug.sh (.*)$", install, re.M))
    for path in sorted((ROOT / "cmake").glob("*.cmake")):
        for target in re.findall(r"^install\(TARGETS (\S+)", path.read_text(encoding="utf-8"), re.M):
            if f"/{target}" not in kept:
                yield f"packaging/tokenkeep.spec: keep-debug.sh does not get {target} of {path.name}"


def sbom_problems():
    """The SBOM has each library that the sources open when it is needed."""
    sys.path.insert(0, str(ROOT / "scripts"))
    import sbom
    opened = set()
    for path in sorted((ROOT / "Sources").glob("**/*")):
        if path.suffix in (".c", ".h", ".swift"):
            opened |= set(re.findall(r'"(lib[\w.+-]+\.so\.\d+)"', path.read_text(encoding="utf-8")))
    for name in sorted(opened - set(sbom.OPENED)):
        yield f"scripts/sbom.py does not know {name}, which the sources open"
    for name in sorted(set(sbom.OPENED) - opened):
        yield f"scripts/sbom.py knows {name}, which no source opens"
    for component in sorted(set(sbom.OPENED.values()) - set(sbom.LOADED)):
        yield f"scripts/sbom.py loads no {component}"


def swift_line_problems():
    """Documents and examples name the package's version as docs/swift.md does: a version without a tag resolves nowhere."""
    line = re.compile(r'\.package\(url: "[^"]*/TokenKeep\.git", ([^,)]+)')
    wanted = line.search(read("docs/swift.md"))[1]
    for folder, pattern in ((".", "*.md"), ("docs", "**/*.md"), ("Sources", "**/*.docc/**/*.md"), ("examples", "**/Package.swift")):
        for path in sorted((ROOT / folder).glob(pattern)):
            for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                found = line.search(text)
                if found and found[1] != wanted:
                    yield f"{path.relative_to(ROOT)}:{number} depends on {found[1]}, docs/swift.md on {wanted}"


def main():
    problems = [*debug_problems(), *linking_problems(), *unit_problems(), *build_depends_problems(), *container_problems(),
                *symbols_problems(), *version_problems(), *pin_problems(), *sbom_problems(), *swift_line_problems()]
    for problem in problems:
        print(f"FAIL {problem}")
    if not problems:
        print("packaging: dependencies, symbols, versions, pins and Swift lines agree")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
