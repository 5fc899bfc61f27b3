# Errors that no other scenario provokes.
title "numbers that are no descriptors"
run unlock --password-fd=-1
run password change --new-password-fd=-1

title "one input for two secrets"
echo horse | run export file.tk --stdin --password-fd 0
echo horse | run import file.tk --stdin --password-fd 0

title "a recovery code that cannot be written"
printf token | run save example.com ann
run password set --stdin <<<horse
echo '$ tokenkeep recovery create --stdin > /dev/full'
"$TOKENKEEP" recovery create --stdin <<<horse >/dev/full
echo "[exit $?]"

title "some accounts of a service cannot be seen"
run lock
run load example.com
run unlock --stdin <<<horse

title "a service to migrate to that is away"
export XDG_RUNTIME_DIR="$WORK/run"
unset DBUS_SESSION_BUS_ADDRESS
both=$'any sufficient secret-service\nany required vault'
run migrate --from vault --to secret-service --stack "$both"
use_service "$both"
run migrate --from vault --to secret-service --stack "$both"

title "a terminal that is closed meanwhile"
on_terminal 'expect:: ' close -- bash -c 'trap "" HUP; exec "$0" "$@" 2>errors' "$TOKENKEEP" save example.com none
cat errors

title "a damaged record during a change of keys"
for record in "$(era)"/records/*; do printf damage >"$record"; done
printf token | run save example.com whole
run password change --compromised --stdin <<<$'horse\nzebra'
for record in "$(era)"/records/*; do basename "$record" | sed 's/[0-9a-f]\{32\}/NAME/'; done | sort

title "a module that knows one namespace"
export TOKENKEEP_MODULES="$WORK/modules"
mkdir "$TOKENKEEP_MODULES"
cat >"$TOKENKEEP_MODULES/lists" <<'END'
#!/bin/sh
while IFS= read -r line && [ -n "$line" ]; do
    case $line in operation=*) operation=${line#*=} ;; esac
done
echo tokenkeep=1
case $operation in
list) echo status=ok ;;
load) echo status=not_found ;;
report) printf 'status=ok\ncapability=lists\n' ;;
*) echo status=unsupported ;;
esac
echo
END
chmod 755 "$TOKENKEEP_MODULES/lists"
echo pass | run export file.tk --stdin --stack $'any sufficient lists\nany required vault'
