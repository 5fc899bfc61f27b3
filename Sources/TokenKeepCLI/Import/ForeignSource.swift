import TokenKeepCore

/// A file or a directory with entries of another program.
protocol ForeignSource {
    var found: ForeignEntries { get }

    /// Removes exactly these entries from the source.
    ///
    /// - Parameter removed: is increased by the number of removed entries, even if the call throws.
    func remove(_ entries: [ForeignEntry], counting removed: inout Int) throws(TokenKeepError)
}

/// A file that contains several entries.
struct FormattedFile: ForeignSource {
    private let file: ForeignFile
    let found: ForeignEntries

    init(_ path: String, _ format: ForeignFormat) throws(TokenKeepError) {
        file = try ForeignFile(path)
        found = try format.read(file.content)
    }

    /// See ``ForeignSource``.
    func remove(_ entries: [ForeignEntry], counting removed: inout Int) throws(TokenKeepError) {
        try file.cut(found.holes(of: entries))
        removed += entries.count
    }
}
