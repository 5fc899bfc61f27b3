import TokenKeepCore

/// A change of the settings of one tool.
struct SettingsChange {
    let file: SettingsFile
    /// The new text of the file; nil to delete the file.
    let text: String?
    /// The lines that are added or removed, to be shown to the user.
    let lines: [String]
    /// The consequences for existing settings, to be shown to the user.
    var notes: [String] = []
    /// Called before the file is written. ``after`` is called after the file was written. Both maintain the notes that
    /// an undo reads.
    var before: (() throws(TokenKeepError) -> Void)?
    var after: (() throws(TokenKeepError) -> Void)?
    /// Called if the file cannot be written, to undo what ``before`` did.
    var failed: (() throws(TokenKeepError) -> Void)?

    /// Writes the file, between the calls of ``before`` and ``after``.
    func apply() throws(TokenKeepError) {
        try before?()
        do throws(TokenKeepError) {
            try file.replace(with: text)
        } catch {
            try? failed?()
            throw error
        }
        try after?()
    }
}

/// The settings of one tool of another project.
protocol ToolSettings {
    /// The tool's name, as an argument of `tokenkeep setup`.
    var name: String { get }
    /// Whether the tool seems to be in use on this machine.
    var isUsed: Bool { get }
    /// The change that makes the tool use TokenKeep; nil if the tool already does.
    func setUp() throws(TokenKeepError) -> SettingsChange?
    /// The change that reverts setup's change; nil if there is nothing to revert.
    func undo() throws(TokenKeepError) -> SettingsChange?
}

/// Setup's lines in a file that allows comments. Two comments enclose the lines, and an undo finds the lines by these
/// comments.
struct SettingsBlock {
    private static let begin = "# tokenkeep setup begin"
    private static let end = "# tokenkeep setup end"
    /// The endings of the block's first comment. An ending describes the text before the block, so that an undo can
    /// restore every byte.
    private static let inNewFile = ", in a new file"
    private static let afterCutLine = ", after a line without its end"

    let lines: [String]

    /// Returns the text with the block at its end; the block alone if the file is missing (nil).
    func appended(to text: String?) -> String {
        guard let text else { return block(SettingsBlock.inNewFile) }
        let isCut = !text.isEmpty && text.utf8.last != UInt8(ascii: "\n")
        return text + (isCut ? "\n" : "") + block(isCut ? SettingsBlock.afterCutLine : "")
    }

    /// Returns the text with the block after the first `count` lines.
    func inserted(into text: String, after count: Int) -> String {
        var parts = SettingsFile.lines(of: text)
        parts.insert(contentsOf: block("").split(separator: "\n" as Character), at: count)
        return parts.joined(separator: "\n")
    }

    private func block(_ context: String) -> String {
        ([SettingsBlock.begin + context] + lines + [SettingsBlock.end]).joined(separator: "\n") + "\n"
    }

    /// Removes setup's block from the text of a file. Returns the rest of the text and the block's lines; nil if there
    /// is no block.
    ///
    /// - Throws: ``Status/conflict`` if `isOurs` returns false for the block's lines.
    static func removed(
        from file: SettingsFile, where isOurs: ([String]) -> Bool
    ) throws(TokenKeepError) -> (text: String?, lines: [String])? {
        guard let text = file.text else { return nil }
        var parts = SettingsFile.lines(of: text)
        // Ignore a carriage return at the end of a line, because an editor may have changed the block's line ends to CR
        // LF.
        let plain = parts.map { String($0.hasSuffix("\r") ? $0.dropLast() : $0) }
        guard let first = plain.firstIndex(where: { $0.hasPrefix(begin) }) else { return nil }
        let last = plain[first...].firstIndex(of: end)
        let lines = last.map { Array(plain[(first + 1)..<$0]) } ?? []
        guard let last, isOurs(lines) else {
            throw TokenKeepError(
                .conflict, "the lines of setup in \(file.path) were changed",
                hint: "take them out yourself: they begin with \(begin)")
        }
        let context = plain[first].dropFirst(begin.count)
        parts.removeSubrange(first...last)
        var rest = parts.joined(separator: "\n")
        if context == inNewFile, rest.isEmpty { return (nil, lines) }
        if context == afterCutLine, first == parts.count - 1, rest.utf8.last == UInt8(ascii: "\n") {
            rest = String(decoding: rest.utf8.dropLast(), as: UTF8.self)
        }
        return (rest, lines)
    }
}
