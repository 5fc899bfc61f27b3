import TokenKeepCore

/// A file or a directory with entries of another program.
protocol ForeignSource {
    var found: ForeignEntries { get }

    /// Removes exactly these entries from the source.
    ///
    /// - Parameter removed: a counter to which the number of removed entries is added, even if the call throws.
    func remove(_ entries: [ForeignEntry], counting removed: inout Int) throws(TokenKeepError)
}

/// A file that contains several entries.
struct FormattedFile: ForeignSource {
    private let file: ForeignFile
    let found: ForeignEntries

    /// Reads the entries of a file or a pipe. See ``ForeignFile``.
    init(
        _ path: String, _ format: ForeignFormat, isToBeCut: Bool, until deadline: Deadline
    ) throws(TokenKeepError) {
        file = try ForeignFile(path, isToBeCut: isToBeCut, until: deadline)
        found = try format.read(file.content)
    }

    /// See ``ForeignSource``.
    func remove(_ entries: [ForeignEntry], counting removed: inout Int) throws(TokenKeepError) {
        try file.cut(found.holes(of: entries))
        removed += entries.count
    }
}
