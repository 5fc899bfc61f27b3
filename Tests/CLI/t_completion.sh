for shell in bash zsh fish; do
    "$TOKENKEEP" --generate-completion-script "$shell" >"script.$shell"
    echo "$shell [exit $?] $(grep -c tokenkeep "script.$shell" | sed 's/[1-9][0-9]*/has lines/')"
done
run --generate-completion-script csh
bash -n script.bash && echo "bash reads it"

title "what bash offers"
offers() {
    bash -c '. ./script.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9
$(complete -p tokenkeep | sed "s/.*-F \([^ ]*\).*/\1/") tokenkeep "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
printf "%s\n" "${COMPREPLY[@]}" | sort' bash "$@"
}
offers tokenkeep s
offers tokenkeep save --level when-
