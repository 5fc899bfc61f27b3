# needs: mount
# Without libcurl a server is asked by --exec alone, and everything else works.
mkdir -p config/tokenkeep/providers.d
printf 'token_endpoint = https://login.example.com/token\n' >config/tokenkeep/providers.d/example.conf
cat >without_curl <<'SCRIPT'
#!/bin/sh
for library in $(ldconfig -p | sed -n 's/.*libcurl\(-gnutls\)\?\.so\.4 .*=> //p'); do
    mount --bind /dev/null "$library" || exit 125
done
exec "$@"
SCRIPT
chmod +x without_curl
title "the message names the package and --exec"
printf '{"access_token":"access-1","expires_in":3600,"refresh_token":"refresh-1"}' |
    run session begin api.example.com ann --provider example
program=$TOKENKEEP
TOKENKEEP="$WORK/tokenkeep"
printf '#!/bin/sh\nexec unshare -m "%s" "%s" "$@"\n' "$WORK/without_curl" "$program" >"$TOKENKEEP"
chmod +x "$TOKENKEEP"
run session refresh api.example.com
run session token api.example.com
run session refresh api.example.com --exec 'echo "{\"access_token\":\"access-2\"}"'
