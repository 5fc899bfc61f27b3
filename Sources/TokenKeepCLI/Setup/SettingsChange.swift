import TokenKeepCore

/// A change of the settings of one tool.
struct SettingsChange {
    let file: SettingsFile
    /// The new text of the file; nil to remove it.
    let text: String?
    /// The lines that come or go, for the user.
    let lines: [String]
    /// The consequences for settings that are there already, for the user.
    var notes: [String] = []
    /// Called before the file is written, and after it: keeps what an undo needs.
    var before: (() throws(TokenKeepError) -> Void)?
    var after: (() throws(TokenKeepError) -> Void)?

    /// Writes the file.
    func apply() throws(TokenKeepError) {
        try before?()
        try file.replace(with: text)
        try after?()
    }
}

/// The settings of one program of others.
protocol ToolSettings {
    /// The tool's name, as setup takes it.
    var name: String { get }
    /// Whether the tool seems to be used here.
    var isUsed: Bool { get }
    /// The change that makes the tool use TokenKeep; nil if it does.
    func setUp() throws(TokenKeepError) -> SettingsChange?
    /// The change that takes back what setup wrote; nil if nothing of it is there.
    func undo() throws(TokenKeepError) -> SettingsChange?
}

/// Lines of setup in a file with comments: a block between two comments, which an undo finds.
struct SettingsBlock {
    private static let begin = "# tokenkeep setup begin"
    private static let end = "# tokenkeep setup end"
    /// The endings of the first comment. They describe the text before the block, which an undo restores to the byte.
    private static let inNewFile = ", in a new file"
    private static let afterCutLine = ", after a line without its end"

    let lines: [String]

    /// The text with the block at its end.
    func appended(to text: String?) -> String {
        guard let text else { return block(SettingsBlock.inNewFile) }
        let isCut = !text.isEmpty && text.utf8.last != UInt8(ascii: "\n")
        return text + (isCut ? "\n" : "") + block(isCut ? SettingsBlock.afterCutLine : "")
    }

    /// The text with the block after the first `count` lines.
    func inserted(into text: String, after count: Int) -> String {
        var parts = SettingsFile.lines(of: text)
        parts.insert(contentsOf: block("").split(separator: "\n" as Character), at: count)
        return parts.joined(separator: "\n")
    }

    private func block(_ context: String) -> String {
        ([SettingsBlock.begin + context] + lines + [SettingsBlock.end]).joined(separator: "\n") + "\n"
    }

    /// The file's text without the block of setup, and the block's lines; nil if it has none.
    ///
    /// - Throws: ``Status/conflict`` if the block has other lines than `isOurs` knows.
    static func removed(
        from file: SettingsFile, where isOurs: ([String]) -> Bool
    ) throws(TokenKeepError) -> (text: String?, lines: [String])? {
        guard let text = file.text else { return nil }
        var parts = SettingsFile.lines(of: text)
        // An editor may have ended the block's lines with CR LF, too.
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
