#!/bin/sh
# Collects what a release has in build/packages, and writes SHA256SUMS and its signature. The key is the releaser's.
#
# Usage: release.sh      (environment: TOKENKEEP_SSH_KEY, a key for ssh-keygen -Y sign; else gpg's default key, or GPG_KEY)
set -eu
cd "$(dirname "$0")/../build/packages"
version=$(sed -n 's/.*define TOKENKEEP_VERSION  *"\(.*\)".*/\1/p' ../../include/tokenkeep/version.h)
export LC_ALL=C
mv tokenkeep.cdx.json "tokenkeep-$version.cdx.json"
rm -f SHA256SUMS SHA256SUMS.asc SHA256SUMS.sig
for file in *; do [ ! -f "$file" ] || sha256sum "$file"; done >.sums
mv .sums SHA256SUMS
if [ -n "${TOKENKEEP_SSH_KEY:-}" ]; then
    ssh-keygen -q -Y sign -f "$TOKENKEEP_SSH_KEY" -n tokenkeep-release SHA256SUMS
elif command -v gpg >/dev/null && gpg --list-secret-keys ${GPG_KEY:+"$GPG_KEY"} 2>/dev/null | grep -q .; then
    gpg --batch --yes ${GPG_KEY:+--local-user "$GPG_KEY"} --armor --detach-sign SHA256SUMS
else
    echo "SHA256SUMS is not signed: set TOKENKEEP_SSH_KEY to a key of yours, or make one with gpg." >&2
    exit 1
fi
ls SHA256SUMS*
