import TokenKeepCore

/// An entry of another program's file, with the values of the item that it becomes.
struct ForeignEntry {
    /// The name of the item.
    let name: ItemName
    /// The entry's secret.
    let secret: SecretBytes
    /// The entry's position in the source, for messages: for example `line 3`.
    let place: String
    /// The range of the entry's bytes in the source.
    let range: Range<Int>
    /// The label of the item; nil for the default.
    var label: String?
    /// The web address of the entry, which becomes the attribute `url`; nil for none.
    var address: String?
    /// A part of the entry that the item cannot contain, for example `notes`; the entry then stays in the source. nil
    /// for none.
    var rest: String?
}

/// An entry that cannot be read.
struct MalformedEntry {
    /// The entry's position in the source. Messages never contain the entry's content.
    let place: String
    let reason: String
}

/// The entries that were found in a source.
struct ForeignEntries {
    var entries: [ForeignEntry] = []
    var malformed: [MalformedEntry] = []
    /// The ranges of all entries of a JSON list, whose commas are removed with the entries. Empty for other formats.
    var listed: [Range<Int>] = []

    /// Adds the entry that `make` returns or, if `make` throws, a malformed entry.
    mutating func add(at place: String, _ make: () throws(TokenKeepError) -> ForeignEntry) {
        do throws(TokenKeepError) {
            entries.append(try make())
        } catch {
            malformed.append(MalformedEntry(place: place, reason: error.message))
        }
    }

    /// Adds a malformed entry.
    mutating func refuse(_ place: String, _ reason: String) {
        malformed.append(MalformedEntry(place: place, reason: reason))
    }

    /// The ranges of bytes to delete in order to remove these entries, ascending and without overlaps.
    func holes(of removed: [ForeignEntry]) -> [Range<Int>] {
        guard !listed.isEmpty else { return removed.map(\.range).sorted { $0.lowerBound < $1.lowerBound } }
        let gone = Set(removed.map(\.range))
        var holes: [Range<Int>] = []
        var lastKept: Int?
        for (index, range) in listed.enumerated() {
            guard gone.contains(range) else {
                lastKept = range.upperBound
                continue
            }
            if index + 1 < listed.count, !listed[(index + 1)...].allSatisfy(gone.contains) {
                holes.append(range.lowerBound..<listed[index + 1].lowerBound)
            } else {
                // No later entry is kept, so the comma before this entry is deleted, too.
                holes.append((lastKept ?? range.lowerBound)..<(listed.last ?? range).upperBound)
                break
            }
        }
        return holes
    }
}

/// The formats of other programs that an import reads.
enum ForeignFormat: String, CaseIterable {
    case pass
    case netrc
    case gitCredentials = "git-credentials"
    case docker
    case pythonKeyring = "python-keyring"
    case secretService = "secret-service"
    case keepassxc = "keepassxc-csv"
    case bitwarden = "bitwarden-json"

    /// The usual path of the file, relative to the home; nil if the user must name the file.
    var usualPath: String? {
        switch self {
        case .pass: ".password-store"
        case .netrc: ".netrc"
        case .gitCredentials: ".git-credentials"
        case .docker: ".docker/config.json"
        case .pythonKeyring: ".local/share/python_keyring/keyring_pass.cfg"
        case .secretService, .keepassxc, .bitwarden: nil
        }
    }

    /// Reads the entries of a file.
    ///
    /// - Throws: ``Status/corrupt`` if the file as a whole has another format.
    func read(_ content: SecretBytes) throws(TokenKeepError) -> ForeignEntries {
        try content.withUnsafeBytes { bytes throws(TokenKeepError) in
            switch self {
            case .pass: throw ForeignFormat.foreign("it is no folder")
            case .secretService: throw ForeignFormat.foreign("it is no file")
            case .netrc: try NetrcReader(bytes).read()
            case .gitCredentials: GitCredentialsReader.read(bytes)
            case .docker: try DockerConfigurationReader.read(bytes)
            case .pythonKeyring: try PythonKeyringReader.read(bytes)
            case .keepassxc: try KeePassXCReader.read(bytes)
            case .bitwarden: try BitwardenReader.read(bytes)
            }
        }
    }

    /// Makes the error for a file of another format.
    static func foreign(_ reason: String) -> TokenKeepError {
        TokenKeepError(.corrupt, "the source is not of this format: \(reason)")
    }
}
