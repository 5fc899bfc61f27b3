# needs: root mount
# Errors of the machine, of files and of buses that no other scenario provokes.
save() { printf token | run save "$@"; }

title "a file in the vault's place, and a directory of other things"
echo something >"$WORK/file" && mkdir -m 700 "$WORK/letters" && echo dear >"$WORK/letters/mother"
TOKENKEEP_VAULT="$WORK/file" save example.com ann
TOKENKEEP_VAULT="$WORK/letters" save example.com ann

title "parts of the vault are lost"
save example.com ann
link=$(readlink "$TOKENKEEP_VAULT/current")
rm "$TOKENKEEP_VAULT/current" && run load example.com ann && save example.com bob
ln -s /elsewhere "$TOKENKEEP_VAULT/current" && run load example.com ann
ln -sfn era-7 "$TOKENKEEP_VAULT/current" && run load example.com ann
ln -sfn "$link" "$TOKENKEEP_VAULT/current"
mv "$TOKENKEEP_VAULT/$link/records" "$WORK/records" && run load example.com ann
mv "$WORK/records" "$TOKENKEEP_VAULT/$link/records"
chown 54321 "$TOKENKEEP_VAULT/$link" && run load example.com ann
chown 0 "$TOKENKEEP_VAULT/$link" && run load example.com ann

title "too few descriptors, too little memory"
program=$TOKENKEEP
limited() { printf '#!/bin/bash\nulimit %s; exec "%s" "$@"\n' "$1" "$program" >"$WORK/tmp/limited" && chmod 755 "$WORK/tmp/limited" && TOKENKEEP="$WORK/tmp/limited"; }
limited "-n 4" && run load example.com ann
TOKENKEEP=$program
echo horse >"$WORK/password" && chmod 600 "$WORK/password"
run password set --stdin <<<horse
run lock
limited "-v 60000" && run unlock --stdin <<<horse
TOKENKEEP=$program
run unlock --stdin <<<horse
run password set --stdin <<<zebra
run password remove --stdin <<<horse

title "files of modules"
export TOKENKEEP_MODULES="$WORK/modules"
mkdir "$TOKENKEEP_MODULES" "$TOKENKEEP_MODULES/folder.so"
echo '#!/bin/sh' >"$TOKENKEEP_MODULES/plain" && chmod 644 "$TOKENKEEP_MODULES/plain"
install -m 755 -o 54321 "$TOKENKEEP_MODULES/plain" "$TOKENKEEP_MODULES/foreign"
install -m 755 "$TOKENKEEP_MODULES/plain" "$TOKENKEEP_MODULES/silent"
for module in folder.so plain foreign silent; do run load example.com ann --stack "any required $module"; done
run module check "$TOKENKEEP_MODULES/plain"

title "stacks"
run load example.com ann --stack "save required vault"
run list --stack "load required vault"
run load example.com ann --stack "any required ../vault"
run load example.com ann --stack "any [ok=ignore default=fail] vault"
echo "any required vault" >"$WORK/foreign.conf" && chown 54321 "$WORK/foreign.conf"
run stack check "$WORK/foreign.conf"

title "levels and flags"
save example.com ann --level when-unlocked-this-device-only --synchronizable
save example.com ann --level when-unlocked --require-enforced
save example.com ann --user-presence

title "buses"
unset XDG_RUNTIME_DIR
bus() { DBUS_SESSION_BUS_ADDRESS="$1" run load example.com ann --stack "any required secret-service"; }
bus unix:path=/nowhere
bus exec:path=/bin/sh
bus nonsense
cat >"$WORK/bus.conf" <<END
<busconfig><type>session</type><listen>unix:path=$WORK/socket</listen><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
END
dbus-daemon --config-file="$WORK/bus.conf" --print-pid --fork >"$WORK/pid"
bus "unix:path=$WORK/socket"
kill "$(cat "$WORK/pid")"
chmod 755 "$WORK" && install -d -o 65534 "$WORK/theirs" && sed "s|$WORK/socket|$WORK/theirs/socket|" "$WORK/bus.conf" >"$WORK/theirs/bus.conf"
setpriv --reuid=65534 --clear-groups dbus-daemon --config-file="$WORK/theirs/bus.conf" --print-pid --fork >"$WORK/pid"
bus "unix:path=$WORK/theirs/socket"
kill "$(cat "$WORK/pid")"

title "sessions"
run session logout api.example.com ann --all
run session begin api.example.com ann <<<'no JSON'
run session begin api.example.com ann <<<'{"access_token": 1}'
begin() { printf '{"access_token":"first","expires_in":3600,"refresh_token":"one"}' | "$TOKENKEEP" session begin api.example.com "$1"; }
begin ann
run session claims api.example.com ann
server() { printf '#!/bin/sh\ncat >/dev/null\n%s\n' "$1" >"$WORK/server" && chmod 755 "$WORK/server"; }
run session refresh api.example.com nobody --exec "$WORK/server"
server 'exit 75' && run session refresh api.example.com ann --exec "$WORK/server"
run session refresh api.example.com ann --exec "$WORK/missing"
begin bob && server 'head -c 300000 /dev/zero' && run session refresh api.example.com bob --exec "$WORK/server"
begin eve && server 'test-clock advance 40; exec sleep 600' && run session refresh api.example.com eve --exec "$WORK/server"
run session refresh api.example.com eve --exec "$WORK/server"

title "exports"
run export "$WORK/export.tk" --stdin <<<$'pass'
run export "$WORK/export.tk" --stdin <<<$'pass'
run import "$WORK/export.tk" --stdin <<<wrong
printf no >"$WORK/no.tk" && run import "$WORK/no.tk" --stdin <<<pass
run import "$WORK/missing.tk" --stdin <<<pass
