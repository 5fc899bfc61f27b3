title "every byte value"
python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 3)' >all
run save example.com bytes <all
run_into got load example.com bytes
same all got

title "newlines at the end, NUL at both ends"
printf '\0token\0\n\n\n' >ends
run save example.com ends <ends
run_into got load example.com ends
same ends got

title "an empty secret is a mistake, unless it is asked for"
printf kept | run save example.com empty
false | run save example.com empty
run load example.com empty
run save example.com empty --allow-empty </dev/null
run_into got load example.com empty
same /dev/null got

title "in many small pieces"
python3 -c 'import sys, time
for number in range(200):
    sys.stdout.buffer.write(b"piece %d;" % number)
    sys.stdout.flush()' | tee pieces | run save example.com pieces
run_into got load example.com pieces
same pieces got

title "the largest secret, and one byte more"
head -c 1048576 /dev/urandom >large
run save example.com large <large
run_into got load example.com large
same large got
head -c 1048577 /dev/urandom | run save example.com large
run_into got load example.com large
same large got

title "endless input is refused, not awaited"
run save example.com endless </dev/zero
run load example.com endless

title "a save replaces"
printf first | run save example.com ann
printf second | run save example.com ann
run load example.com ann

title "an empty account, and one that looks like an option"
printf 'of nobody' | run save example.com ''
run load example.com ''
printf dashed | run save example.com -- --all
run load example.com -- --all

title "the pipe reader that takes little at a time gets everything"
"$TOKENKEEP" load example.com large | python3 -c 'import os, sys
data = b""
while piece := os.read(0, 777): data += piece
open("got", "wb").write(data)'
same large got
