title "a vault without a password: none is asked for, 4"
printf secret | run save example.com ann
for command in unlock 'password change' 'password remove' 'run -- true' 'recovery create'; do
    echo "$ tokenkeep $command"
    setsid -w "$TOKENKEEP" $command </dev/null 2>&1
    echo "[exit $?]"
done

title "7 tells of damage and of the disk alone: no terminal and no password is 3"
setsid -w "$TOKENKEEP" password set </dev/null 2>&1; echo "[exit $?]"
run password set --stdin <<<horse
run lock
: >file.tk
for command in unlock 'load example.com ann --interactive' 'password change' 'password remove' 'run -- true' 'recovery create' \
    'recovery use' 'export new.tk' 'import file.tk'; do
    echo "$ tokenkeep $command"
    setsid -w "$TOKENKEEP" $command </dev/null 2>&1
    echo "[exit $?]"
done

title "a password file that is missing, a directory, or not for this user: 2, 2 and 5"
mkdir folder
for command in unlock list 'load example.com ann' 'password change' 'session list'; do
    run $command --password-file "$WORK/none"
done
run run --password-file "$WORK/none" -- true
run unlock --password-file "$WORK/folder"
run unlock --password-file "$WORK/none/password"
TOKENKEEP_PASSWORD_FILE="$WORK/none" run list
run password change --password-fd 9
run unlock --stdin <&-
run unlock --stdin </

title "a pipe that stays open behind its first line"
mkfifo -m 600 pipe
exec 9<>pipe
echo horse >&9
run unlock --password-fd 9
run lock
echo horse >&9
run unlock --password-file "$WORK/pipe"
run lock
exec 9>&-

title "a pipe into which nothing is written holds no call beyond its time limit, and is no export"
run unlock --password-file "$WORK/pipe" --timeout 20ms
run password change --password-file "$WORK/pipe" --timeout 20ms
run run --password-file "$WORK/pipe" --timeout 20ms -- true
run run --env-file pipe --timeout 20ms -- true
exec 9<>pipe
run unlock --password-file "$WORK/pipe" --timeout 20ms
run unlock --password-fd 9 --timeout 20ms
run run --env-file pipe --timeout 20ms -- true
printf hor >&9 # half a line
run unlock --password-fd 9 --timeout 20ms
echo horse >present && chmod 600 present
run password change --password-file "$WORK/present" --new-password-fd 9 --timeout 20ms
exec 9>&-
run password change --password-file "$WORK/present" --new-password-file "$WORK/pipe" --timeout 20ms
run recovery use --stdin --new-password-file "$WORK/pipe" --timeout 20ms <<<code
run import pipe --stdin <<<passphrase

title "without --timeout, after two minutes"
late() {
    echo "$ tokenkeep $*"
    "$TOKENKEEP" "$@" >out 2>&1 </dev/null &
    pass_limits "$!"
    wait "$!"
    echo "[exit $?]"
    cat out
}
late unlock --password-file "$WORK/pipe"
late password change --password-file "$WORK/present" --new-password-file "$WORK/pipe"
late password change --password-file "$WORK/pipe" --new-password-file "$WORK/present"

title "a file of an export that is missing or of another kind: 2"
echo horse >password && chmod 600 password
run unlock --password-file "$WORK/password"
run import "$WORK/none" --stdin <<<passphrase
run import "$WORK/folder" --stdin <<<passphrase
run import "$WORK/password/none" --stdin <<<passphrase
run export "$WORK/none/backup" --stdin <<<passphrase
run export "$WORK/password/backup" --stdin <<<passphrase

title "a file that is missing is named before a passphrase is asked for"
for command in 'import none.tk' 'import folder' 'export none/new.tk' 'export file.tk'; do
    echo "$ tokenkeep $command"
    setsid -w "$TOKENKEEP" $command </dev/null 2>&1
    echo "[exit $?]"
done

title "what the command line names is not there: 2"
run provider check none.conf
run provider show none
run session login api ann --provider none
run stack check none.conf
run run --env-file none.env -- true
