# needs: strace
# The cost of a call, and of a keeper's look, does not grow with the number of accounts, and that of a logout of all grows as the number does.
body='{"access_token":"a","refresh_token":"r","expires_in":3600}'
begin() { for number in $(seq "$1" "$2"); do printf '%s' "$body" | "$TOKENKEEP" session begin api "user-$number"; done; }
# The number of files of records and of sessions that a call opens.
opened() {
    printf '%s' "$body" | strace -f -qq -o trace -e trace=openat "$TOKENKEEP" session "$@" >/dev/null 2>&1
    grep -cE '"(sessions/)?[0-9a-f]{32}' trace
}
compare() { # TITLE FACTOR BEFORE AFTER: whether the second is at most so many times the first
    [ "$4" -le $(($2 * $3)) ] && echo "$1: ok" || echo "$1: $3 files, then $4"
}

# The number of such files that a keeper opens for a change, after the changes of its beginning.
opened_by_keeper() {
    : >kept
    strace -f -qq -o kept -e trace=openat "$TOKENKEEP" session keep --exec ./renew >/dev/null 2>&1 &
    local keeper=$! account before=0
    for account in first second third; do
        before=$(wc -l <kept)
        printf '{"access_token":"a","refresh_token":"r","expires_in":0}' | "$TOKENKEEP" session begin web "$account"
        until [ "$("$TOKENKEEP" session token web "$account" 2>/dev/null)" = renewed ]; do :; done
    done
    tail -n +$((before + 1)) kept | grep -cE '"(sessions/)?[0-9a-f]{32}'
    pkill -TERM -P "$keeper"
    wait "$keeper" 2>/dev/null
}
printf '#!/bin/sh\ncat >/dev/null\necho %s\n' \
    "'{\"access_token\":\"renewed\",\"refresh_token\":\"r\",\"expires_in\":3600}'" >renew
chmod +x renew

title "40 accounts, and then 120"
begin 1 40
calls=("begin api eve" "token api eve" "refresh api eve --exec cat")
for call in "${calls[@]}"; do opened $call >>few; done
kept=$(opened_by_keeper)
"$TOKENKEEP" session logout api eve --local
few=$(opened logout api --all)
begin 1 120
for call in "${calls[@]}"; do opened $call >>many; done
paste -d' ' few many | while read -r before after; do compare "a call" 1 $((before + 10)) "$after"; done
compare "a keeper's look" 1 $((kept + 10)) "$(opened_by_keeper)"
"$TOKENKEEP" session logout api eve --local
compare "a logout of all" 5 "$few" "$(opened logout api --all)"

title "the system calls of a logout of all, for each account"
# at_most NUMBER TITLE CALLS: whether 40 more accounts need at most so many more calls each.
at_most() {
    local number counts=()
    for number in 10 50; do
        for account in $(seq "$number"); do
            printf '%s' "$body" | "$TOKENKEEP" session begin "calls-$number" "user-$account"
        done
        strace -f -qq -o trace -e trace="$3" "$TOKENKEEP" session logout "calls-$number" --all >/dev/null 2>&1
        counts+=("$(grep -cE '^[0-9]+ +[a-z0-9_]+\(' trace)")
    done
    [ $(((counts[1] - counts[0]) / 40)) -le "$1" ] && echo "$2: ok" || echo "$2: $(((counts[1] - counts[0]) / 40)), not $1"
}
# A note, the waiting token and another note are written, a record is removed; the second note's name may be lost.
at_most 6 "waits for the disk" fsync,fdatasync
at_most 140 "looks at files" newfstatat
