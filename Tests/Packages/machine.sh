# A clean machine: what apt, debian/tests and dpkg do there. Read by run.sh.
base=$cache/bookworm
machine=$work/machine
mkdir -p "$cache"
if [ ! -d "$base" ]; then
    address=$(PYTHONPATH="$root/Tests/Providers" python3 -c 'import roots; print(roots.mirror())')
    # Everything that the tests' packages depend on lies in apt's cache: the machine itself has no network.
    mmdebstrap --quiet --variant=minbase --aptopt='APT::Install-Recommends "false"' \
        --include=ca-certificates bookworm "$base.unfinished" "deb $address bookworm main" ||
        { fail "mmdebstrap made no clean machine"; return; }
    mv "$base.unfinished" "$base"
fi
# What the packages and their tests need besides: fetched with the network that the test has, once.
needed=$(sed -n 's/^Depends: //p' "$root/debian/tests/control" | tr -d ' ' | tr ',' '\n' | grep -v tokenkeep | sort -u)
needed="$needed libsodium23 libargon2-1 libjansson4 libcurl4 libsecret-1-0 libgcrypt20 libsystemd0 libpam-runtime libpam0g libtss2-esys-3.0.2-0
    libtss2-mu0 libtss2-tctildr0 python3 libglib2.0-0 gnome-keyring"
wanted=$(echo "$needed" | md5sum | cut -c1-12)
if [ ! -e "$base/var/cache/tokenkeep-$wanted" ]; then
    cp /etc/resolv.conf "$base/etc/resolv.conf"
    # shellcheck disable=SC2086
    chroot "$base" sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --download-only --no-install-recommends "$@"' \
        sh $needed default-dbus-session-bus dbus-user-session >"$work/log" 2>&1 || { tail -n 3 "$work/log"; fail "the packages of the tests were not fetched"; return; }
    : >"$base/var/cache/tokenkeep-$wanted"
fi
cp -a --reflink=auto "$base" "$machine"

# The local repository; a second one has the same packages under a later version, as an upgrade has.
repository() { # DIRECTORY
    (cd "$1" && dpkg-scanpackages --multiversion . 2>/dev/null >Packages)
}
mkdir -p "$machine/packages/now" "$machine/packages/later" "$machine/tests"
cp "$packages"/*_*.deb "$machine/packages/now"
rm -f "$machine"/packages/now/*-dbgsym_*
for package in "$machine"/packages/now/*.deb; do
    rm -rf "$work/later"
    dpkg-deb -R "$package" "$work/later"
    sed -i -E 's/^Version: (.*)/Version: \1+later/; s/\(= ([^)]*)\)/(= \1+later)/g' "$work/later/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$work/later" "$machine/packages/later" >/dev/null
done
repository "$machine/packages/now"
repository "$machine/packages/later"
cp "$root"/debian/tests/* "$here/inside.sh" "$machine/tests"

# A mount and a process namespace of its own, and no network: apt has what is in its cache and in the repository.
unshare --mount --pid --net --ipc --fork sh -c '
    mount -t proc proc "$1/proc" && mount -t tmpfs tmp "$1/tmp" && mount --rbind /dev "$1/dev" && mount --make-rslave "$1/dev" &&
    exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive timeout 900 sh /tests/inside.sh' \
    sh "$machine" >"$work/inside" 2>&1
code=$?
cat "$work/inside"
passed=$((passed + $(grep -c '^ok ' "$work/inside")))
failed=$((failed + $(grep -c '^FAIL' "$work/inside")))
[ $code -eq 0 ] || fail "the clean machine ended with $code"
