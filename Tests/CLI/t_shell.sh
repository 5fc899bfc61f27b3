title "load --json: the members of list --json, and the secret"
printf 'a "quoted" \\ \t\n\x01 \xc3\xa4 \xf0\x9f\x98\x80 \xe2\x80\xae end' | "$TOKENKEEP" save json.example ann --label Ann --attribute b=2 --attribute a=1 --level when-unlocked
run load json.example ann --json
"$TOKENKEEP" load json.example ann >plain
"$TOKENKEEP" load json.example ann --json >item.json
"$TOKENKEEP" list json.example --json >list.json
python3 - <<'PYTHON'
import json
item = json.load(open("item.json"))
assert item.pop("secret").encode() == open("plain", "rb").read()
assert [item] == json.load(open("list.json"))["items"]
PYTHON
echo "[exit $?]"

title "a secret that is no UTF-8 is base64"
for bytes in '\xff' '\xff\x00' '\xff\x00a' '\xed\xa0\x80' '\xc0\x80' 'cut \xe2\x82'; do
    printf "$bytes" >secret
    "$TOKENKEEP" save binary.example ann <secret
    "$TOKENKEEP" load binary.example ann --json | python3 -c '
import base64, json, sys
item = json.load(sys.stdin)
print("secret" in item, base64.b64decode(item["secret_base64"], validate=True) == open("secret", "rb").read())'
done
printf '' | "$TOKENKEEP" save binary.example ann --allow-empty
"$TOKENKEEP" load binary.example ann --json | grep '"secret'
head -c 1048576 /dev/zero >secret
"$TOKENKEEP" save binary.example ann <secret
"$TOKENKEEP" load binary.example ann --json | python3 -c '
import json, sys
print(json.load(sys.stdin)["secret"].encode() == open("secret", "rb").read())'
"$TOKENKEEP" load binary.example ann --json >/dev/full
echo "[exit $?]"
"$TOKENKEEP" clear binary.example ann

title "save --json: the version, with which a script compares and swaps"
printf one | run save swap.example ann --json
version=$("$TOKENKEEP" load swap.example ann --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["version"])')
printf two | "$TOKENKEEP" save swap.example ann --json | grep -c "$version"
printf three | "$TOKENKEEP" save swap.example ann --if-version "$version"
echo "[exit $?]"

title "load without an account"
run load swap.example
printf one | "$TOKENKEEP" save several.example ann
printf two | "$TOKENKEEP" save several.example bob
printf three | "$TOKENKEEP" save several.example ''
run load several.example
run load nothing.test

title "a typo"
# A list costs time: a script gets no hint.
run load swap.exmaple ann
on_terminal -- "$TOKENKEEP" load swap.exmaple ann
on_terminal -- "$TOKENKEEP" load swap.exampl
on_terminal -- "$TOKENKEEP" load several.example an
on_terminal -- "$TOKENKEEP" load several.example bobby
on_terminal -- "$TOKENKEEP" load xyz.test ann

title "an expired item"
printf old | "$TOKENKEEP" save expired.example ann --expires 2020-01-01
run load expired.example ann
run load expired.example ann --unexpired
run load expired.example ann --fresh-for 60s
printf new | "$TOKENKEEP" save soon.example ann --expires 9999-12-31
run load soon.example ann --unexpired
run load soon.example ann --fresh-for 60s
run load soon.example ann --fresh-for 9999999d
run load soon.example ann --fresh-for 60
run load soon.example ann --fresh-for soon
run load swap.example ann --unexpired --fresh-for 60s

title "a newline at the end of the input"
echo token | run save line.example ann
"$TOKENKEEP" load line.example ann | od -An -c
echo token | run save line.example ann --strip-newline
"$TOKENKEEP" load line.example ann | od -An -c
printf 'token\r\n' | run save line.example ann --strip-newline
"$TOKENKEEP" load line.example ann | od -An -c
printf 'token\n\n' | run save line.example ann --strip-newline
"$TOKENKEEP" load line.example ann | od -An -c
printf 'two\nlines\n' | run save line.example ann
printf '\n' | run save line.example ann --strip-newline
