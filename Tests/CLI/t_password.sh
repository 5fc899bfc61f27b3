protection() { "$TOKENKEEP" protection | sed -n '1,/^$/p'; }

title "a first password"
printf early | run save example.com ann
printf screen | run save example.com bert --level when-unlocked
protection
run password remove --stdin <<<x
run unlock --stdin <<<x
run lock
printf 'two\nlines\n' | run password set --stdin
run password set --stdin <<<''
run password set --stdin <<<'correct horse'
run status
run load example.com ann
protection

title "locked and unlocked"
run lock --screen
run load example.com bert
run load example.com ann
run lock
run load example.com ann
run load example.com nobody
run save example.com ann <<<new
run list
run status
run clear example.com bert
run clear example.com bert
run unlock --stdin <<<wrong
run unlock --stdin <<<'correct horse'
run load example.com ann
run lock --all --screen

title "another password"
printf 'wrong\nnew\n' | run password change --stdin
printf 'correct horse\nnew\n' | run password change --stdin
run unlock --stdin <<<'correct horse'
run unlock --stdin <<<new

title "a recovery code"
code=$("$TOKENKEEP" recovery create --stdin <<<new)
grep -Ecx '([0-9A-HJKMNP-TV-Y]{5}-){5}[0-9A-HJKMNP-TV-Y]{5}' <<<"$code"
printf '%s\nrecovered\n' "${code%?}" | run recovery use --stdin
printf '00000-00000-00000-00000-00000-00000\nrecovered\n' | run recovery use --stdin
printf '%s\nrecovered\n' "$code" | run recovery use --stdin
run load example.com ann
printf 'recovered\nthird\n' | run password change --stdin --compromised
printf '%s\nrecovered\n' "$code" | run recovery use --stdin

title "items that demand the password"
run save example.com kept --require-enforced <<<kept
run save example.com kept --require-enforced --level when-unlocked <<<kept
run save example.com kept --level after-first-unlock <<<lower
run save example.com asks --user-presence <<<asks
run load example.com asks
run password remove --stdin <<<third
run password remove --stdin --destroy-items <<<third
run list
run load example.com ann
run lock
