/// Extends the argument parser's completion script for bash, so that it completes services with colons.
enum BashCompletion {
    private static let firstLine = "#!/bin/bash\n"

    /// Appends the extension to a completion script for bash. Returns any other text unchanged.
    static func completed(_ text: String) -> String {
        text.hasPrefix(firstLine) && text.contains("_tokenkeep()") ? text + "\n" + joining : text
    }

    /// bash splits words at colons (`COMP_WORDBREAKS`), and inserts completions with `\:`. This function joins the
    /// words again, and removes from each completion the part up to the last colon, which bash keeps.
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
