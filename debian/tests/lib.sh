# What the tests share: a home of their own, and a comparison. To be read by `.`.
set -eu
: "${AUTOPKGTEST_TMP:=$(mktemp -d)}"
export HOME="$AUTOPKGTEST_TMP/home"
mkdir -p "$HOME"
unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS TOKENKEEP_VAULT
# tokenkeep-dev's examples as they are installed.
examples=/usr/share/doc/libtokenkeep-dev/examples

# is NAME EXPECTED FOUND
is() {
    [ "$2" = "$3" ] || { echo "FAIL $1: expected '$2', found '$3'" >&2; exit 1; }
    echo "ok   $1"
}
