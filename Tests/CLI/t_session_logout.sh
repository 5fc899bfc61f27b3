# Warnings of a logout about tokens that the server may still accept.
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

title "a hook that is a link into a directory of another user does not run"
mkdir -m 755 "$WORK/linked" && mv config/tokenkeep/logout.d/caches "$WORK/linked/caches" && chown 65534 "$WORK/linked"
ln -s "$WORK/linked/caches" config/tokenkeep/logout.d/caches
begin api ann
run session logout api ann --local 2>&1 | sed "s|$WORK|WORK|"
rm config/tokenkeep/logout.d/caches && mv "$WORK/linked/caches" config/tokenkeep/logout.d/caches

title "a file in the place of the directory of hooks is named: its programs seem to run"
mv config/tokenkeep/logout.d moved
cp moved/caches config/tokenkeep/logout.d
begin api ann
run session logout api ann --local 2>&1 | sed "s|$XDG_CONFIG_HOME|CONFIG|"
rm config/tokenkeep/logout.d && mv moved config/tokenkeep/logout.d

title "the command that the hint names is the one that was given"
begin "a shop" ann
run session logout "a shop" ann --exec "./no such 'server'"

title "a record that cannot be read is not called locked"
begin damaged ann
for file in "$(era)"/records/*; do : >"$file"; done
run session logout damaged ann
