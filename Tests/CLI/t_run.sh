# needs: mount
# Runs a function with a program whose kernel forbids keyrings.
denied() {
    printf '#!/bin/sh\nexec python3 %s/without_keyring.py EPERM %s "$@"\n' "$HERE" "$TOKENKEEP" >"$WORK/tmp/denied"
    chmod 755 "$WORK/tmp/denied"
    (TOKENKEEP="$WORK/tmp/denied"; "$@")
}
echo horse >"$WORK/password" && chmod 600 "$WORK/password"
echo wrong >"$WORK/wrong" && chmod 600 "$WORK/wrong"

title "a password from a file"
printf early | run save example.com ann
run password set --password-file "$WORK/password"
run lock
run load example.com ann
run load example.com ann --password-file "$WORK/wrong"
run load example.com ann --password-file "$WORK/password"
run lock
run unlock --password-file "$WORK/password"
run load example.com ann
run lock

title "a password from a descriptor"
run load example.com ann --password-fd 3 3<"$WORK/password"
run lock
printf 'horse\nmore lines\n' | run list --password-fd 0
run lock
run list --password-fd 9
printf horse | run save example.com bert --password-fd 0
run list --password-fd -1
run list --password-fd 3 --password-file "$WORK/password"
run unlock --stdin --password-file "$WORK/password" <<<horse

title "a password from the environment's file"
(export TOKENKEEP_PASSWORD_FILE="$WORK/password"
    printf saved | run save example.com bert
    run lock
    run load example.com bert
    run lock
    run list
    run lock
    run export "$WORK/export" --stdin <<<passphrase
    run lock
    # An option counts more.
    run load example.com bert --password-file "$WORK/wrong")
(export TOKENKEEP_PASSWORD_FILE="$WORK/none"; run load example.com bert; run list)

title "files that are refused"
: >"$WORK/empty" && chmod 600 "$WORK/empty"
run load example.com ann --password-file "$WORK/empty"
printf '\nhorse\n' >"$WORK/empty"
run load example.com ann --password-file "$WORK/empty"
chmod 620 "$WORK/password"
run load example.com ann --password-file "$WORK/password"
chmod 600 "$WORK/password"
run load example.com ann --password-file "$WORK"
run load example.com ann --password-file /dev/null
head -c 2000000 /dev/zero | tr '\0' x >"$WORK/long" && chmod 600 "$WORK/long"
run load example.com ann --password-file "$WORK/long"

title "another password, and a recovery code"
echo new >"$WORK/new" && chmod 600 "$WORK/new"
run password change --password-file "$WORK/wrong" --new-password-file "$WORK/new"
run password change --password-file "$WORK/password" --new-password-fd 4 4<"$WORK/new"
run unlock --password-file "$WORK/password"
run unlock --password-file "$WORK/new"
run_into "$WORK/code" recovery create --password-file "$WORK/new"
run recovery use --stdin --new-password-file "$WORK/password" <"$WORK/code"
run lock
run password change --stdin --new-password-file "$WORK/new" <<<x
run recovery use --new-password-fd 3 --new-password-file "$WORK/new"

title "for one process tree"
run run --password-file "$WORK/password" -- sh -c 'echo "[$($0 load example.com ann)]"' "$TOKENKEEP"
run load example.com ann
run run --password-file "$WORK/password" -- sh -c '"$0" lock; "$0" load example.com ann' "$TOKENKEEP"
run run --password-file "$WORK/password" -- sh -c 'exit 23'

title "the password is removed while the command runs: its keys read nothing more, and no damage is reported"
cp -a "$TOKENKEEP_VAULT" "$WORK/before"
run run --password-file "$WORK/password" -- sh -c '
    "$0" password remove --password-file "$1"
    for command in load clear; do "$0" $command example.com bert; echo $?; done
    echo new | "$0" save example.com bert; echo $?
    "$0" unlock --password-file "$1"; echo $?
    (echo new | "$0" password set --stdin); echo $?' "$TOKENKEEP" "$WORK/password"
run load example.com bert
run run --password-file "$WORK/password" -- sh -c '"$0" load example.com bert' "$TOKENKEEP"
title "an older header that is put there meanwhile is refused as ever"
run password set --password-file "$WORK/password"
run lock
python3 "$HERE/keys.py" forget "$TOKENKEEP_VAULT"
run run --password-file "$WORK/password" -- sh -c '
    rm -r "$2" && cp -a "$1" "$2"
    "$0" load example.com bert; echo $?' "$TOKENKEEP" "$WORK/before" "$TOKENKEEP_VAULT"

title "the command gets no password"
show_input='readlink /proc/self/fd/0; readlink /proc/self/fd/7 || echo closed; echo "${TOKENKEEP_PASSWORD_FILE-unset}"'
run run --password-fd 7 -- sh -c "$show_input" 7<"$WORK/password" </dev/zero
run run --password-fd 0 -- sh -c "$show_input" <"$WORK/password"
run run --stdin -- sh -c "$show_input" <"$WORK/password"
(export TOKENKEEP_PASSWORD_FILE="$WORK/password"; run run -- sh -c "$show_input" </dev/zero)

title "what cannot be run"
run run --password-file "$WORK/wrong" -- true
run run --password-file "$WORK/password" -- no-such-command
run run --password-file "$WORK/password" -- "$WORK"
run run
run run --
run run true
run run -- ''

title "in a kernel that forbids keyrings"
denied run unlock --password-file "$WORK/password"
denied run load example.com ann
denied run list
denied run load example.com ann --password-file "$WORK/password"
denied run run --password-file "$WORK/password" -- sh -c '
    echo "[$($0 load example.com ann)]"
    echo new | "$0" save example.com carl
    echo "[$($0 load example.com carl)]"
    "$0" lock
    echo "[$($0 load example.com ann)]"' "$TOKENKEEP"

title "what a program may not take for the keys"
# Runs a command under `tokenkeep run` whose keys inherited_keys.py has changed first.
changed() {
    echo "# $1"
    denied run run --password-file "$WORK/password" -- \
        python3 "$HERE/inherited_keys.py" "$1" "$TOKENKEEP" load example.com ann
}
for change in none closed unsealed file pipe cut empty longer magic version count bits other-number words negative other-user; do
    changed $change
done

title "a program with raised privileges takes no keys of its caller"
cp "$HERE/raised.py" "$WORK/tmp"
mkdir "$WORK/home-of-root"
# In a home of its own: the one that the passwd database names.
unshare -m bash -u -c '
    . "$HERE/lib.sh"
    mount --bind "$WORK/home-of-root" "$(getent passwd 0 | cut -d: -f6)" || exit 1
    unset TOKENKEEP_VAULT
    printf secret | run save example.com ann
    run password set --password-file "$WORK/password"
    run lock
    run run --password-file "$WORK/password" -- "$TOKENKEEP" load example.com ann
    run run --password-file "$WORK/password" -- python3 "$WORK/tmp/raised.py" "$TOKENKEEP" load example.com ann'
