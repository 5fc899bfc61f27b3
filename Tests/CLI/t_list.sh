title "nothing"
run list
run list --json
run list example.com

title "a table"
printf x | "$TOKENKEEP" save example.com ann --label 'Ann' --expires 2999-12-31T18:00:00Z
printf x | "$TOKENKEEP" save example.com bob --level when-unlocked --expires 2020-01-01
printf x | "$TOKENKEEP" save example.com '' --label ''
printf x | "$TOKENKEEP" save a.example ann
run list
run list a.example
run list nowhere.example

title "JSON, read by another program"
printf x | "$TOKENKEEP" save json.example ann --attribute b=2 --attribute a='"\/' --label $'"quoted" \\ / \u202e\u00e4\U0001F600\U000E0041'
run list json.example --json
"$TOKENKEEP" list --json | python3 -c '
import json, sys
listing = json.load(sys.stdin)
assert sorted(listing) == ["items", "problem"] and listing["problem"] is None
items = listing["items"]
print(len(items), "items,", sorted(items[0]))
for item in items:
    assert isinstance(item["version"], str) and int(item["version"]) > 0
    assert item["expires_at"] is None or item["expires_at"].endswith("Z")
    print(ascii([item["service"], item["account"], item["label"], item["attributes"], item["expires_at"]]))'

title "wide, combining and deceiving characters"
printf x | "$TOKENKEEP" save wide.example 猫 --label '日本語'
printf x | "$TOKENKEEP" save wide.example e$'\u0301' --label $'\u202egnp.exe\u2028\u200b\ufeff'
printf x | "$TOKENKEEP" save wide.example $'\u0645\u06cc\u200c\u062e' --label $'\U0001F468\u200d\U0001F469'
run list wide.example

title "what cannot be read is said, and the rest is shown"
record=$(ls "$(era)/records" | head -1)
printf damage >"$(era)/records/$record"
"$TOKENKEEP" list >out 2>err
echo "[exit $?] $(wc -l <out) lines"
cat err
"$TOKENKEEP" list --json 2>/dev/null | python3 -c '
import json, sys
listing = json.load(sys.stdin)
print(len(listing["items"]), "items")
print(json.dumps(listing["problem"], indent=2, sort_keys=True))'
