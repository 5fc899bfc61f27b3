import TokenKeepCore

/// An entry of another program's file, as an item.
struct ForeignEntry {
    /// The name that the item gets.
    let name: ItemName
    /// The entry's secret.
    let secret: SecretBytes
    /// The place in the source for messages: `line 3`.
    let place: String
    /// The bytes of the entry in the source.
    let range: Range<Int>
    /// The label of the item; nil for the default.
    var label: String?
    /// The address that the entry is for, which becomes the attribute `url`; nil for none.
    var address: String?
    /// A part of the entry that the item does not keep, such as `notes`; the entry then stays in the source.
    var rest: String?
}

/// An entry that cannot be read.
struct MalformedEntry {
    /// The place in the source. The content is never part of a message.
    let place: String
    let reason: String
}

/// The entries of a source.
struct ForeignEntries {
    var entries: [ForeignEntry] = []
    var malformed: [MalformedEntry] = []
    /// The entries of a list in JSON, whose commas go with removed entries. Empty for other sources.
    var listed: [Range<Int>] = []

    /// Adds the entry that `make` makes, or notes why it cannot.
    mutating func add(at place: String, _ make: () throws(TokenKeepError) -> ForeignEntry) {
        do throws(TokenKeepError) {
            entries.append(try make())
        } catch {
            malformed.append(MalformedEntry(place: place, reason: error.message))
        }
    }

    /// Notes an entry that cannot be read.
    mutating func refuse(_ place: String, _ reason: String) {
        malformed.append(MalformedEntry(place: place, reason: reason))
    }

    /// The bytes that must go so that these entries are gone, in order and without overlaps.
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
                // No entry is left behind this one: the comma before it goes, too.
                holes.append((lastKept ?? range.lowerBound)..<(listed.last ?? range).upperBound)
                break
            }
        }
        return holes
    }
}

/// The formats of other programs.
enum ForeignFormat: String, CaseIterable {
    case pass
    case netrc
    case gitCredentials = "git-credentials"
    case docker
    case pythonKeyring = "python-keyring"
    case secretService = "secret-service"
    case keepassxc = "keepassxc-csv"
    case bitwarden = "bitwarden-json"

    /// The place of the file below the home; nil if the user must name the file.
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
            guard !ForeignText.isUTF16(bytes) else {
                throw ForeignFormat.foreign("it is UTF-16", hint: "iconv -f UTF-16 -t UTF-8 makes it UTF-8")
            }
            return switch self {
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

    /// The error for a file of another format.
    static func foreign(_ reason: String, hint: String? = nil) -> TokenKeepError {
        TokenKeepError(.corrupt, "the source is not of this format: \(reason)", hint: hint)
    }
}
