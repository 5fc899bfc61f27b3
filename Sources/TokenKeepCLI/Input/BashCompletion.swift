/// An addition to the argument parser's completion script for bash: services with colons.
enum BashCompletion {
    private static let firstLine = "#!/bin/bash\n"

    /// A completion script for bash with the addition; any other text unchanged.
    static func completed(_ text: String) -> String {
        text.hasPrefix(firstLine) && text.contains("_tokenkeep()") ? text + "\n" + joining : text
    }

    /// bash breaks words at colons (`COMP_WORDBREAKS`), and writes its answers with `\:`. This function joins the words
    /// again, and takes the part before the last colon, which bash keeps, off the answers.
    private static let joining = """
        _tokenkeep_joined() {
            local -a joined=()
            local -i at
            local word
            for ((at = 0; at <= COMP_CWORD; at++)); do
                word=${COMP_WORDS[at]//\\\\:/:}
                if ((at > 1)) && [[ $word == : || ${COMP_WORDS[at - 1]} == : ]]; then
                    joined[${#joined[@]} - 1]+=$word
                else
                    joined+=("$word")
                fi
            done
            local last=${joined[${#joined[@]} - 1]}
            local -a COMP_WORDS=("${joined[@]}")
            local -i COMP_CWORD=$((${#joined[@]} - 1))
            local COMP_LINE=${COMP_LINE:0:COMP_POINT}
            COMP_LINE=${COMP_LINE//\\\\:/:}
            local -i COMP_POINT=${#COMP_LINE}
            _tokenkeep "$1" "$last" "${joined[COMP_CWORD - 1]}"
            local before=${last%"${last##*:}"}
            COMPREPLY=("${COMPREPLY[@]#"$before"}")
        }
        complete -o filenames -F _tokenkeep_joined tokenkeep

        """
}
