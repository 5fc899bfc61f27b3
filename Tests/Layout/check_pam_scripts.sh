#!/bin/sh
# The maintainer scripts of libpam-tokenkeep call pam-auth-update only if the logins have the module, and a removal that fails
# enables it again. The scripts run on directories of the test's own, with a pam-auth-update that notes its arguments.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
mkdir -p "$work/bin" "$work/run" "$work/pam.d"
printf '#!/bin/sh\necho "$*" >>"%s/calls"\ncase "$*" in *--remove*) rm -f "%s"/pam.d/*; exit $(cat "%s/code") ;; esac\n' \
    "$work" "$work" "$work" >"$work/bin/pam-auth-update"
chmod +x "$work/bin/pam-auth-update"
for name in postinst prerm postrm; do
    sed "s|/etc/pam.d|$work/pam.d|g; s|/run/|$work/run/|g" "$root/debian/libpam-tokenkeep.$name" >"$work/$name"
done

logins() { # enabled | off
    rm -f "$work"/pam.d/* "$work"/run/*
    echo "auth optional pam_unix.so" >"$work/pam.d/common-auth"
    [ "$1" = off ] || echo "auth optional pam_tokenkeep.so" >>"$work/pam.d/common-auth"
    echo 0 >"$work/code"
    : >"$work/calls"
}
run() { # SCRIPT ARGUMENT
    script=$1
    shift
    PATH="$work/bin:$PATH" sh "$work/$script" "$@"
}
is() { # NAME EXPECTED: what pam-auth-update was called with, and what stays in /run
    found=$(paste -sd '|' "$work/calls")$(ls "$work/run")
    [ "$2" = "$found" ] || { echo "FAIL libpam-tokenkeep: $1: expected '$2', found '$found'"; failed=1; }
}

logins off
run postinst configure ''
is "an installation" ""
run prerm remove
run postrm remove
is "a removal of a module that is off" ""
logins off
run prerm remove
run postinst abort-remove
is "a failed removal of a module that is off" ""
logins enabled
run postinst configure 0.1.0-1
is "an upgrade" "--package"
logins enabled
run prerm upgrade 0.2.0-1
is "the old version's part of an upgrade" ""
logins enabled
DPKG_MAINTSCRIPT_PACKAGE_REFCOUNT=2 run prerm remove
is "another architecture's package stays" ""
logins enabled
run prerm remove
run postrm remove
is "a removal" "--package --remove tokenkeep"
logins enabled
echo 1 >"$work/code"
! run prerm remove || { echo "FAIL libpam-tokenkeep: a prerm that fails does not say so"; failed=1; }
run postinst abort-remove
is "a removal that fails" "--package --remove tokenkeep|--enable tokenkeep"
[ $failed -ne 0 ] || echo "libpam-tokenkeep: 8 cases, 0 faults"
exit $failed
