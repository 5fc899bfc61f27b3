# What a logout says about the tokens that the server may still take.
begin() { printf '{"access_token":"a","refresh_token":"r","expires_in":3600}' | "$TOKENKEEP" session begin "$@"; }

title "the same about more than five accounts is said once"
for account in ann bob carol dave eve; do begin api "$account"; done
run session logout api --all
for account in ann bob carol dave eve frank grace; do begin api "$account"; done
run session logout api --all
for account in ann bob carol dave eve frank grace; do begin api "$account"; done
run session logout api --all --json

title "hooks that fail for more than five accounts are named once"
mkdir -m 700 config/tokenkeep/logout.d
printf '#!/bin/sh\nexit 1\n' >config/tokenkeep/logout.d/caches
chmod 700 config/tokenkeep/logout.d/caches
for account in ann bob carol dave eve frank grace; do begin api "$account"; done
run session logout api --all --local
title "and for fewer: once, with the account of a single one"
for account in ann bob carol; do begin api "$account"; done
run session logout api --all --local
begin api ann
run session logout api --all --local
chmod g+w config/tokenkeep/logout.d/caches
for account in ann bob carol; do begin api "$account"; done
run session logout api --all --local
chmod g-w config/tokenkeep/logout.d/caches

title "a record that cannot be read is not called locked"
begin damaged ann
for file in "$(era)"/records/*; do : >"$file"; done
run session logout damaged ann
