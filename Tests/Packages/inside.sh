#!/bin/sh
# On the clean machine: see machine.sh.
set -u
result=0
is() {
    if [ "$2" = "$3" ]; then echo "ok   $1"; else
        echo "FAIL $1: expected '$2', found '$3'"
        result=1
    fi
}
quietly() { # NAME COMMAND…
    name=$1
    shift
    if "$@" >/tmp/log 2>&1; then echo "ok   $name"; else
        echo "FAIL $name:"
        tail -n 15 /tmp/log
        result=1
    fi
}
use() { # now|later: the repository that apt sees, beside what it has fetched
    echo "deb [trusted=yes] file:/packages/$1 ./" >/etc/apt/sources.list.d/local.list
    apt-get update -qq -o Dir::Etc::sourcelist=sources.list.d/local.list -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0
}
get() { apt-get -y --no-install-recommends --allow-downgrades "$@"; }
# Every file of the machine but those that apt and dpkg keep for themselves, with the sums of those in /etc.
listed() {
    find / -xdev \( -path /proc -o -path /tmp -o -path /dev -o -path /packages -o -path /tests -o -path /var/cache -o -path /var/lib/apt \
        -o -path /var/lib/dpkg -o -path /var/log -o -path /etc/apt -o -path /root \) -prune -o -print | sort
    find /etc -path /etc/apt -prune -o -type f ! -name ld.so.cache ! -name '*-' -exec md5sum {} + | sort -k 2
}

# Installs all that packages of ours depend on, and none of ours.
get_foreign() { # PACKAGE…
    # shellcheck disable=SC2046
    get install $(get -s install "$@" | sed -n 's/^Inst \([^ ]*\) .*/\1/p' | grep -vxF "$(echo "$packages" | tr ' ' '\n')")
}
# The state of the machine before the first package of ours: the purge restores it.
packages="libtokenkeep0 libtokenkeep-dev tokenkeep-common tokenkeep tokenkeep-secret-service libpam-tokenkeep python3-tokenkeep"
use now
is "the machine has none of our packages" "" "$(dpkg-query -W '*tokenkeep*' 2>/dev/null)"

# Neither D-Bus nor libsecret nor GLib nor systemd: the program alone.
quietly "what tokenkeep depends on" get_foreign tokenkeep
listed >/tmp/before
quietly "apt installs tokenkeep on a machine that has nothing" get install tokenkeep
is "no bus, no GLib, no libsecret, no systemd came with it" "" \
    "$(dpkg-query -W -f='${Package} ${db:Status-Abbrev}\n' 'dbus*' 'libglib2*' 'libsecret*' systemd 2>/dev/null | grep ' ii' | cut -d' ' -f1 | tr '\n' ' ')"
quietly "debian/tests/program without a bus" /tests/program
quietly "purge" get purge tokenkeep tokenkeep-common
listed >/tmp/after
is "nothing of tokenkeep is left, and nothing else is gone" "" "$(diff /tmp/before /tmp/after)"

quietly "what the packages depend on" get_foreign $packages
is "no package of ours came with it" "" "$(dpkg-query -W -f='${Package} ${db:Status-Abbrev}\n' $packages 2>/dev/null | grep ' ii')"
umask 022
listed >/tmp/before
# A narrow umask of the administrator must not hide what is installed.
umask 077
quietly "apt installs all packages" get install $packages
umask 022
is "every file is as dpkg knows it" "" "$(dpkg -V $packages 2>&1)"
is "nobody needs root to use the library" "644 755" "$(stat -c %a /usr/lib/*/libtokenkeep.so.0.* /usr/lib/*/tokenkeep/modules | paste -sd ' ')"
is "no unit is enabled by the installation" "" \
    "$(find /etc/systemd -name '*tokenkeep*' 2>/dev/null)"

# A program that holds the library open, over an upgrade and a downgrade.
cat >/tmp/holds.py <<'END'
import os, sys, time
import tokenkeep
os.environ["HOME"] = "/tmp/holder"
os.makedirs("/tmp/holder", exist_ok=True)
store = tokenkeep.Store()
for line in sys.stdin:
    store.save("example.com", "ann", line.strip().encode())
    print(bytes(store.load("example.com", "ann").secret).decode(), flush=True)
END
mkfifo /tmp/to /tmp/from
HOME=/tmp/holder python3 /tmp/holds.py </tmp/to >/tmp/from 2>/tmp/holder.log &
exec 3>/tmp/to 4</tmp/from
ask() { echo "$1" >&3; read -r answer <&4; echo "$answer"; }
is "a program holds the library" before "$(ask before)"
quietly "an administrator enables the PAM module" pam-auth-update --enable tokenkeep
use later
quietly "upgrade" get install $packages
is "the upgrade is there" later "$(dpkg-query -W -f='${Version}' libtokenkeep0 | sed 's/.*+//')"
is "the program goes on over the upgrade" upgraded "$(ask upgraded)"
is "a new program loads what the old one saved" upgraded "$(HOME=/tmp/holder tokenkeep load example.com ann)"
is "logins have the lines of the later version" 3 "$(grep -l 'pam_tokenkeep.so later[[:space:]]*$' /etc/pam.d/* | wc -l)"
use now
quietly "downgrade" get install $(for name in $packages; do echo "$name=$(dpkg-query -W -f='${Version}' "$name" | sed 's/+later//')"; done)
is "the program goes on over the downgrade" downgraded "$(ask downgraded)"
exec 3>&- 4<&-
wait
is "logins have the lines of the earlier version" 3 "$(grep -l 'pam_tokenkeep.so[[:space:]]*$' /etc/pam.d/* | wc -l)"

quietly "remove" get remove $packages
is "no login has a line of the PAM module" "" "$(grep -l pam_tokenkeep /etc/pam.d/*)"
is "a user's vault stays" downgraded "$(get install tokenkeep >/tmp/log 2>&1; HOME=/tmp/holder tokenkeep load example.com ann)"
quietly "purge" get purge $packages
listed >/tmp/after
is "nothing is left, and nothing else is gone" "" "$(diff /tmp/before /tmp/after)"

# autopkgtest's tests, each with what it depends on.
awk '/^Tests:/ { name = $2 } /^Depends:/ { sub(/^Depends: /, ""); gsub(/,/, ""); print name, $0 }' /tests/control >/tmp/tests
while read -r test needs; do
    # shellcheck disable=SC2086
    quietly "what the test $test depends on" get install $needs </dev/null
    export AUTOPKGTEST_TMP="/tmp/$test"
    mkdir "$AUTOPKGTEST_TMP"
    chmod 755 "$AUTOPKGTEST_TMP"
    quietly "debian/tests/$test" timeout 300 "/tests/$test" </dev/null
done </tmp/tests
. /tests/container.sh
exit $result
