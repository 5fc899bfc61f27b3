# needs: root
# The other sessions of a user, who is not root, and keys that end one by one. The report agrees each time.
cp "$TOKENKEEP" "$WORK/tmp/tokenkeep" && chmod 755 "$WORK" "$WORK/tmp" "$WORK/tmp/tokenkeep"
cp "$HERE/keys.py" "$WORK/tmp/keys.py"
install -d -o 65534 -g 65534 -m 700 "$WORK/own"
export TOKENKEEP_VAULT="$WORK/own/vault"
as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
keys() { as_user /usr/bin/python3 "$WORK/tmp/keys.py" "$@"; }
# Each way of being the same user: a program that runs the command.
session() {
    printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups %s %s "$@"\n' "$2" "$WORK/tmp/tokenkeep" >"$WORK/tmp/$1"
    chmod 755 "$WORK/tmp/$1"
}
session login ''
session second-login "/usr/bin/python3 $WORK/tmp/keys.py new-session"
session without-keyring "/usr/bin/python3 $WORK/tmp/keys.py no-session"
session cron "env -i TOKENKEEP_VAULT=$TOKENKEEP_VAULT XDG_CONFIG_HOME=$XDG_CONFIG_HOME setsid -w"
in_session() { (TOKENKEEP="$WORK/tmp/$1"; shift; "$@"); }
report() { "$TOKENKEEP" protection | sed -n '1,3p;8p'; }
agrees() { report | diff - "$WORK/report" && echo "the report is the same"; }

printf secret | in_session login run save example.com screen --level when-unlocked
printf secret | in_session login run save example.com first
in_session login run password set --stdin <<<horse
in_session login report | tee "$WORK/report"
in_session login run lock

for session in login second-login without-keyring cron; do
    title "unlocked in: $session"
    in_session "$session" run unlock --stdin <<<horse
    for other in login second-login without-keyring cron; do
        echo "# $other"
        in_session "$other" run load example.com screen
        in_session "$other" run load example.com first
        in_session "$other" agrees
    done
    printf "$session" | in_session cron run save example.com "$session"
    in_session second-login run load example.com "$session"
    in_session "$session" run lock
    in_session login run load example.com first
done

title "another user, who inherits the session"
in_session login run unlock --stdin <<<horse
# As sudo: it leaves the session to whom it becomes.
/usr/bin/python3 "$WORK/tmp/keys.py" read-from 65534 65533 "$TOKENKEEP_VAULT"
in_session login agrees

title "each key ended, each way"
for how in revoke invalidate unlink expire; do
    for class in 1 2 17; do
        keys end-key "$TOKENKEEP_VAULT" "$class" "$how"
        in_session login run load example.com screen
        in_session second-login run load example.com first
        in_session login run unlock --stdin <<<horse
    done
    in_session login agrees
done
in_session cron run load example.com screen
in_session cron run load example.com first
in_session login run lock
