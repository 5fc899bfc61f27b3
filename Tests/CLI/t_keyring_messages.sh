# needs: keyring strace
# Errors with a real keyring that no other scenario provokes. strace makes up those of the kernel, as in kernel_refuses.
cat >scenario.sh <<'SCENARIO'
both=$'any sufficient secret-service\nany required vault'
save() { printf %s "$1" | "$TOKENKEEP" save example.com "${@:3}" --stack "$2"; }

title "the kernel starts no thread"
save one "any required vault" ann
for thread in 1 2 3; do
    refused clone3:error=EAGAIN:when=$thread "" load example.com ann --stack "any required secret-service"
done

title "an item of another program is in the way"
printf theirs | secret-tool store --label=x service example.com username ann
run migrate --from vault --to secret-service --stack "$both"
SCENARIO
python3 "$HERE/keyring.py" "$(cat scenario.sh)"
