/// A word of a command for the user's shell.
package enum ShellWord {
    /// The word, in single quotes unless the shell takes it as it is.
    package static func quoted(_ word: String) -> String {
        if isPlain(word) { return word }
        let parts = word.split(separator: "'" as Character, omittingEmptySubsequences: false)
        return "'" + parts.joined(separator: "'\\''") + "'"
    }

    /// Whether no shell gives a character of the word a meaning of its own.
    package static func isPlain(_ word: some StringProtocol) -> Bool {
        !word.isEmpty
            && word.allSatisfy { character in
                character.isASCII && (character.isLetter || character.isNumber || "/._+-:@%,".contains(character))
            }
    }
}
