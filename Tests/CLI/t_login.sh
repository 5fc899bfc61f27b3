# What the program shows about logins, and the calls of the PAM module. Tests/Login has the module itself.
title "the calls of the PAM module are not shown"
run login --help
run login status --help

mkdir pam.d
status() { run login status --pam-directory pam.d "$@"; }

title "no vault, no module"
status
run login unlock --service sshd <<<"a password"
run login confirm --service sshd

title "a vault without a password"
printf secret | "$TOKENKEEP" save example.com ann
status
printf 'a password' | run login unlock --service sshd

title "a vault with a password that no login has reached"
echo 'a password' | "$TOKENKEEP" password set --stdin
"$TOKENKEEP" lock
status

title "services with and without the module"
cat >pam.d/common-auth <<'PAM'
auth	[success=1 default=ignore]	pam_unix.so nullok
auth	requisite			pam_deny.so
auth	optional	/usr/lib/security/pam_tokenkeep.so	# session optional pam_tokenkeep.so
PAM
echo '-session optional \
  pam_tokenkeep.so' >pam.d/common-session
printf '@include common-auth\n@include common-session\n' >pam.d/login
printf 'auth substack common-auth\nsession include common-auth\n' >pam.d/sshd
printf 'auth required pam_unix.so\n' >pam.d/swaylock
printf 'password required pam_unix.so\n@include passwd\n' >pam.d/passwd
mkfifo pam.d/greetd
status
status --json

title "the outcomes, and where they are told"
for word in unlocked wrong-password no-password unreachable not-followed; do
    echo "1764000000 sshd $word" >vault/login
    status
    "$TOKENKEEP" status | grep -A1 '^login'
done
status --json

title "a file that breaks the rules counts as missing"
for line in "" "x" "1764000000 sshd opened" "-1 sshd unlocked" "1764000000 s/d unlocked" "1764000000 sshd unlocked more"; do
    echo "$line" >vault/login
    status --json | grep '"last"'
done
rm vault/login
mkfifo vault/login
status | grep "last login"

title "nor is it replaced, if it is no file"
printf 'a password' | run login unlock --service sshd
stat -c %F vault/login
rm vault/login

title "the login's password opens the vault, and the next login finds it open"
"$TOKENKEEP" lock
printf wrong | run login unlock --service sshd
cut -d' ' -f2- vault/login
printf 'a password' | run login unlock --service 'no name'
cut -d' ' -f2- vault/login
run load example.com ann
printf wrong | run login unlock --service sshd
cut -d' ' -f2- vault/login

title "the vault's password follows the login's"
printf 'a password\0another\0' | run login password --service passwd
cut -d' ' -f2- vault/login
printf 'a password\0third\0' | run login password --service passwd
cut -d' ' -f2- vault/login
printf '\0third\0' | run login password --service passwd
printf 'third' | run login password --service passwd
echo another | "$TOKENKEEP" unlock --stdin && echo "the password is the second"

title "a change by hand ends what is known"
printf 'another\nthird\n' | "$TOKENKEEP" password change --stdin
ls vault/login
"$TOKENKEEP" lock
