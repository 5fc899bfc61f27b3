show_item() { run list example.com --json; }
save() { printf secret | run save example.com ann "$@"; }

title "label, level, attributes, expiry, flags"
save --label "Ann's token" --level when-unlocked --attribute color=blue --attribute a.b-c_1= --attribute 'sum=1=1' \
    --expires 2030-12-31 --synchronizable
show_item
title "a save without a level keeps it; the rest is as the save says"
save
show_item

title "levels"
save --level after-first-unlock
save --level memory-only
save --level when-unlocked-this-device-only
save --level always
save --level unlocked
save --level ''
save --level memory-only --synchronizable
save --require-enforced
save --user-presence

title "times of expiry"
expiry() {
    printf '%s: ' "$1"
    printf x | "$TOKENKEEP" save expiry ann --expires "$1" 2>&1 || return 0
    "$TOKENKEEP" list expiry --json | sed -n 's/.*"expires_at" : //p'
}
for text in 2030-12-31 2030-12-31T18:00:00Z 2030-12-31T18:00Z '2030-12-31 18:00:00z' 2030-12-31T18:00:00.999+02:00 \
    2030-12-31T18:00:00-0530 2028-02-29 @1924970400 @1 @253402300799 2020-01-01; do
    expiry "$text"
done
for text in '' tomorrow 2030 2030-12 2030-13-01 2030-02-30 2027-02-29 2030-12-31T18:00:00 2030-12-31T25:00Z \
    2030-12-31T18:60Z 2030-12-31T18:00:60Z 2030-12-31T18:00+24:00 2030-12-31Z ' 2030-12-31' '٢030-12-31' 1924970400 @ @0 \
    @x @-5 @253402300800 @99999999999999999999 + +h +1500ms +-1h +1y +9999999d +106751991168d 30d; do
    expiry "$text"
done 2>&1 | grep -v '^hint:'
title "from now"
for text in +12h +43200; do
    before=$(date +%s)
    printf x | "$TOKENKEEP" save expiry ann --expires "$text"
    after=$(date +%s)
    "$TOKENKEEP" list expiry --json | python3 -c '
import datetime, json, sys
ends = datetime.datetime.fromisoformat(json.load(sys.stdin)["items"][0]["expires_at"]).timestamp() - 12 * 3600
print("12 hours from now" if int(sys.argv[1]) <= ends <= int(sys.argv[2]) else f"wrong: {ends} {sys.argv[1:]}")' \
        "$before" "$after"
done

title "attributes"
save --attribute wrong
save --attribute =value
save --attribute Upper=1
save --attribute 'sp ace=1'
save --attribute twice=1 --attribute twice=2
save --attribute $'a=line\nbreak'
many=()
for number in {1..33}; do many+=(--attribute "n$number=1"); done
printf x | "$TOKENKEEP" save example.com ann "${many[@]}" 2>&1
echo "[exit $?]"
printf x | "$TOKENKEEP" save example.com many "${many[@]:2}" 2>&1
echo "[exit $?]"
save --attribute -dash=-dash

title "a label over its limit"
printf x | "$TOKENKEEP" save example.com ann --label "$(printf 'x%.0s' {1..1025})" 2>&1
echo "[exit $?]"

title "timeouts"
for text in 60000ms 60s 60 2m 1h 49d; do run load example.com ann --timeout "$text"; done
for text in '' s 0s 0ms 1.5s -1s 5S '5 s' 50d 99999999999999999999s 9223372036854775807d; do
    run load example.com ann "--timeout=$text"
done

title "stacks"
run load example.com ann --stack default
run load example.com ann --stack 'any required vault'
run load example.com ann --stack $'# the vault alone\nany\trequired vault # it'
run load example.com ann --stack 'any required memory'
run load example.com ann --stack desktop
run load example.com ann --stack ''
run load example.com ann --stack ' '
run load example.com ann --stack 'any vault'
run load example.com ann --stack 'all required vault'
run load example.com ann --stack 'any required'
run load example.com ann --stack $'any required vault\nany required nowhere'
run load example.com ann --stack 'any required vault color=blue'
run load example.com ann --stack $'any required \e[31mred'

title "a stack that saves in memory would keep nothing, and remove the copy further down"
printf kept | run save example.com memory
for stack in 'any required memory' $'save required memory\nany required vault' $'save optional vault\nany required memory'; do
    printf other | run save example.com memory --stack "$stack"
done
mkdir -p config/tokenkeep/stack.d
echo 'any required memory' >config/tokenkeep/stack.d/scratch.conf
printf other | XDG_CONFIG_HOME="$WORK/config" run save example.com memory --stack scratch
run load example.com memory
printf new | run save example.com memory --stack $'load optional memory\nany required vault'
run load example.com memory

title "namespaces"
printf common | run save example.com cat
printf other | run save example.com cat --namespace org.example
run load example.com cat
run load example.com cat --namespace org.example
run list --namespace org.example
run clear example.com cat --namespace org.example
run load example.com cat --namespace org.example
run load example.com cat
