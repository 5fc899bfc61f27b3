# needs: keyring
# slowness: 12
# Findings of doctor about the message bus and the keyring on it.
. "$HERE/doctor.sh"
export XDG_DATA_DIRS=$WORK/none
printf 'any sufficient secret-service\nany required vault\n' >config/tokenkeep/stack.d/default.conf

title "no bus"
doctor bus
XDG_RUNTIME_DIR="$WORK/none" doctor bus

title "a stale address"
DBUS_SESSION_BUS_ADDRESS=unix:path=$WORK/none/bus doctor bus

title "a bus that does not answer"
mkfifo listens waits end
python3 - <<'PYTHON' &
import socket
bus = socket.socket(socket.AF_UNIX)
bus.bind("silent")
bus.listen()
open("listens", "w").write("yes\n")
first = bus.accept()[0]
first.recv(4096)
open("hung", "w").write("yes\n")
second = bus.accept()
third = bus.accept()
PYTHON
silent=$!
read -r _ <listens
DBUS_SESSION_BUS_ADDRESS=unix:path=$WORK/silent doctor_hung 1 doctor bus
kill "$silent" && wait "$silent" 2>/dev/null

cat >scenario.sh <<'SCENARIO'
. "$HERE/doctor.sh"
export XDG_DATA_DIRS=$WORK/none # no file of the machine's own keyring
title "a keyring that answers"
doctor bus secret-service default-collection
printf x | run save example.com ann

title "a locked keyring"
lock() {
    gdbus call --session --dest org.freedesktop.secrets --object-path /org/freedesktop/secrets \
        --method org.freedesktop.Secret.Service.Lock "['/org/freedesktop/secrets/collection/login']" >/dev/null
}
lock
doctor secret-service default-collection
title "a second keyring waits for the name"
owner=$(gdbus call --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus \
    --method org.freedesktop.DBus.GetConnectionUnixProcessID org.freedesktop.secrets | grep -o '[0-9]*,' | tr -d ,)
/usr/bin/python3 - <<'PYTHON' &
import os
import dbus
bus = dbus.SessionBus()
assert bus.request_name("org.freedesktop.secrets", 0) == 2
open("waits", "w").write("yes\n")
os.read(os.open("end", os.O_RDONLY), 1)
PYTHON
second=$!
read -r _ <waits
doctor secret-service
kill "$second" && wait "$second" 2>/dev/null

title "a keyring that is gone, and has items of this machine"
kill "$owner"
python3 "$HERE/unowned.py" org.freedesktop.secrets
doctor secret-service
DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent doctor bus

title "an activation file that the bus does not read"
mkdir -p data/dbus-1/services
printf '[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/usr/bin/gnome-keyring-daemon\n' >data/dbus-1/services/org.freedesktop.secrets.service
XDG_DATA_HOME="$WORK/data" doctor secret-service
SCENARIO
python3 "$HERE/keyring.py" "$(cat scenario.sh)"

title "the vault as the keyring, locked and unlocked"
mkdir -m 700 served
cat >served.sh <<'SCENARIO'
. "$HERE/lib.sh"
. "$HERE/doctor.sh"
doctor secret-service default-collection
run lock
doctor secret-service default-collection
TOKENKEEP_VAULT=$WORK/vault doctor secret-service
SCENARIO
provider=${TOKENKEEP%/bin/*}/libexec/tokenkeep/tokenkeep-secret-service
[ -x "$provider" ] || provider=${TOKENKEEP%/*}/tokenkeep-secret-service
(
    export TOKENKEEP_VAULT=$WORK/served/vault XDG_RUNTIME_DIR=$WORK/served XDG_CONFIG_HOME=$WORK/served/config
    mkdir -p "$XDG_CONFIG_HOME/tokenkeep/stack.d"
    echo "any required vault" >"$XDG_CONFIG_HOME/tokenkeep/stack.d/default.conf"
    echo horse | run password set --stdin
    "$provider" run -- bash -u served.sh 2>/dev/null
)

title "a keyring without a collection"
cat >bus.conf <<CONF
<busconfig><type>session</type><listen>unix:path=$WORK/bus</listen>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
CONF
dbus-daemon --config-file=bus.conf --print-pid --fork >bus.pid
(
    export DBUS_SESSION_BUS_ADDRESS=unix:path=$WORK/bus XDG_RUNTIME_DIR=$WORK/run XDG_DATA_HOME=$WORK/empty
    mkdir -m 700 run empty
    gnome-keyring-daemon --components=secrets --foreground >/dev/null 2>&1 &
    gdbus wait --session --timeout "$PATIENCE" org.freedesktop.secrets
    doctor secret-service default-collection
)
end_bus
rm -r run

dbus-daemon --config-file=bus.conf --print-pid --fork >bus.pid
mkdir run && ln -s ../bus run/bus
# keyring KIND COMMAND...: a command beside a keyring of this kind.
keyring() {
    local serving
    DBUS_SESSION_BUS_ADDRESS=unix:path=$WORK/bus /usr/bin/python3 "$HERE/vague_keyring.py" "$1" >listens &
    serving=$!
    read -r _ <listens
    XDG_RUNTIME_DIR=$WORK/run "${@:2}"
    kill "$serving" && wait "$serving" 2>/dev/null
}
title "a keyring that does not answer"
keyring silent doctor_hung 1 doctor bus secret-service default-collection
hang git
keyring silent doctor_hung 2 python3 "$HERE/within.py" 5 env PATH="$WORK/bin" "$TOKENKEEP" doctor
borrow git

title "a keyring that fails, and one that does not tell its state"
keyring failing doctor bus secret-service default-collection
keyring vague doctor bus secret-service default-collection
end_bus
rm -r run

title "a bus that can start a keyring"
mkdir -p data/dbus-1/services
printf '[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/bin/false\n' >data/dbus-1/services/org.freedesktop.secrets.service
cat >bus.conf <<CONF
<busconfig><type>session</type><listen>unix:path=$WORK/bus</listen><servicedir>$WORK/data/dbus-1/services</servicedir>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
CONF
dbus-daemon --config-file=bus.conf --print-pid --fork >bus.pid
DBUS_SESSION_BUS_ADDRESS=unix:path=$WORK/bus XDG_DATA_HOME="$WORK/data" doctor bus secret-service default-collection
end_bus
