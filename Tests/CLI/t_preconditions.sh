title "only a new item"
printf first | run save example.com ann --if-absent
printf second | run save example.com ann --if-absent
run load example.com ann

title "only over the version that was read"
version=$(version_of example.com ann)
printf second | "$TOKENKEEP" save example.com ann --if-version "$version"
echo "[exit $?]"
printf third | "$TOKENKEEP" save example.com ann --if-version "$version"
echo "[exit $?]"
run load example.com ann
printf x | "$TOKENKEEP" save example.com bob --if-version "$version"
echo "[exit $?]"

title "the same secret again has the same version, another label another one"
version=$(version_of example.com ann)
printf second | "$TOKENKEEP" save example.com ann
[ "$version" = "$(version_of example.com ann)" ] && echo same
printf second | "$TOKENKEEP" save example.com ann --label other
[ "$version" = "$(version_of example.com ann)" ] || echo changed

title "clear only the version that was read"
"$TOKENKEEP" clear example.com ann --if-version "$version"
echo "[exit $?]"
run load example.com ann
"$TOKENKEEP" clear example.com ann --if-version "$(version_of example.com ann)"
echo "[exit $?]"
run load example.com ann
"$TOKENKEEP" clear example.com ann --if-version "$version"
echo "[exit $?]"

title "what is no version"
for text in '' 0 -1 +1 1x 0x10 18446744073709551616 ' 1'; do
    printf x | run save example.com ann "--if-version=$text"
done
run clear example.com ann --if-version 0
printf x | run save example.com ann --if-absent --if-version 1
