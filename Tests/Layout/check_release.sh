#!/bin/sh
# scripts/release-check.py on a repository of its own: each thing that is missing before a tag is named.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
cd "$work" || exit 1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_GLOBAL=/dev/null
git init -q .
mkdir -p include/tokenkeep debian packaging python Tests/ABI

release() { # VERSION: writes it everywhere
    major=${1%%.*} rest=${1#*.}
    minor=${rest%%.*} patch=${rest#*.}
    {
        printf '#define TOKENKEEP_VERSION_MAJOR %s\n#define TOKENKEEP_VERSION_MINOR %s\n' "$major" "$minor"
        printf '#define TOKENKEEP_VERSION_PATCH %s\n#define TOKENKEEP_VERSION "%s"\n' "$patch" "$1"
        printf '#define TOKENKEEP_VERSION_NUMBER %d\n' $((major * 1000000 + minor * 1000 + patch))
    } >include/tokenkeep/version.h
    echo "tokenkeep ($1-1) unstable; urgency=medium" >debian/changelog
    echo "Version:        $1" >packaging/tokenkeep.spec
    echo "version = \"$1\"" >python/pyproject.toml
    printf '## %s (2026-12-01)\n\n- First.\n' "$1" >CHANGELOG.md
}
commit() { git add -A && git commit -qm "$1"; }

expect() { # NAME, the expected lines on standard input
    cat >"$work/.git/expected"
    "$root/scripts/release-check.py" "$work" >"$work/.git/printed" 2>&1
    sed -i 's/^release-check: //' "$work/.git/printed"
    cmp -s "$work/.git/expected" "$work/.git/printed" && return
    echo "FAIL release-check.py: $1"
    diff "$work/.git/expected" "$work/.git/printed"
    failed=1
}

release 0.1.0
echo "int tokenkeep_open(void);" >include/tokenkeep/store.h
echo "tokenkeep_open TOKENKEEP_0.1" >Tests/ABI/symbols.txt
commit one
expect "the first release" <<'END'
0.1.0 after no release: versions, tree, changelog and interface agree
END
sed -i 's/(2026-12-01)/(not released)/' CHANGELOG.md
sed -i 's/0.1.0/0.1.1/' packaging/tokenkeep.spec python/pyproject.toml
sed -i 's/unstable/UNRELEASED/' debian/changelog
expect "other versions, no date, a tree with changes" <<'END'
packaging/tokenkeep.spec has the version 0.1.1, not 0.1.0
python/pyproject.toml has the version 0.1.1, not 0.1.0
debian/changelog is UNRELEASED
the tree has changes: commit them, or remove them
CHANGELOG.md: "## 0.1.0 (not released)" needs the date of the release
END
git checkout -q .
git tag 0.1.0
expect "the tag is at the commit" <<'END'
0.1.0 after no release: versions, tree, changelog and interface agree
END
echo >>CHANGELOG.md
commit more
expect "the tag is elsewhere" <<'END'
the tag 0.1.0 is at another commit: raise the version
END
release 0.2.0
sed -i 's/NUMBER .*/NUMBER 1000/' include/tokenkeep/version.h
echo "int tokenkeep_open(int);" >include/tokenkeep/store.h
printf 'tokenkeep_load TOKENKEEP_0.1\ntokenkeep_save TOKENKEEP_0.2\n' >Tests/ABI/symbols.txt
commit two
expect "another interface" <<'END'
include/tokenkeep/version.h: TOKENKEEP_VERSION_NUMBER is not 2000
tokenkeep_open of 0.1.0 is gone: a new soname is needed
tokenkeep_load is new and in TOKENKEEP_0.1, which 0.1.0 has: give it a new version
CHANGELOG.md: 0.2.0 has no entry for the change of include/tokenkeep/store.h
END
release 0.2.0
echo "- \`tokenkeep_open\` takes a number." >>CHANGELOG.md
printf 'tokenkeep_open TOKENKEEP_0.1\ntokenkeep_save TOKENKEEP_0.2\n' >Tests/ABI/symbols.txt
commit three
expect "an interface that grew" <<'END'
0.2.0 after 0.1.0: versions, tree, changelog and interface agree
END
git tag 0.3.0
expect "another tag at the commit" <<'END'
the commit has the tag 0.3.0, not 0.2.0
END
[ $failed -ne 0 ] || echo "release-check.py: 7 states, 0 faults"
exit $failed
