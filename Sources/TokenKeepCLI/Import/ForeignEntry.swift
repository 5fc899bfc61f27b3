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
    /// A warning about the item with advice for the user; nil for no warning.
    var remark: (text: String, hint: String?)?

    /// Returns the entry for an item that keeps the address `kept`. If the entry has another address, its ``rest``
    /// names the address, so that the entry stays in the source.
    func kept(withAddress kept: String?) -> ForeignEntry {
        guard let address, address != kept, rest == nil else { return self }
        var entry = self
        entry.rest = "the address"
        return entry
    }

    /// Checks the limits of items. Returns the entry, without its address if the address is too long for an attribute.
    ///
    /// - Throws: ``Status/invalid`` if the label or the secret is too long for an item.
    fileprivate func checked() throws(TokenKeepError) -> ForeignEntry {
        try Limits.checkSecret(count: secret.count)
        try Limits.check(label ?? "", field: "label", atMost: Limits.label)
        guard let address else { return self }
        do throws(TokenKeepError) {
            try Limits.check(address, field: "address", atMost: Limits.attributeValue)
            return self
        } catch {
            var entry = self
            entry.address = nil
            entry.rest = rest ?? "the address"
            entry.remark = remark ?? (text: "\(error.message), and is left out", hint: nil)
            return entry
        }
    }
}

/// An entry that cannot be read.
struct MalformedEntry {
    /// The entry's position in the source. Messages never contain the entry's content.
    let place: String
    let reason: String
    var hint: String?
}

/// The entries that were found in a source.
struct ForeignEntries {
    var entries: [ForeignEntry] = []
    var malformed: [MalformedEntry] = []
    /// The ranges of all entries of a JSON list, which are needed to remove the commas between removed entries. Empty
    /// for other formats.
    var listed: [Range<Int>] = []

    /// Adds the entry that `make` returns or, if `make` throws, a malformed entry.
    mutating func add(at place: String, _ make: () throws(TokenKeepError) -> ForeignEntry) {
        do throws(TokenKeepError) {
            entries.append(try make().checked())
        } catch {
            malformed.append(MalformedEntry(place: place, reason: error.message, hint: error.hint))
        }
    }

    /// Adds a malformed entry.
    mutating func refuse(_ place: String, _ reason: String, hint: String? = nil) {
        malformed.append(MalformedEntry(place: place, reason: reason, hint: hint))
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
                // No later entry is kept, so also delete the comma before this entry.
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

    /// The paths at which the program itself looks for the file, the usual path first; empty if the user must name the
    /// file.
    ///
    /// - Parameter variable: returns the value of an environment variable; nil if the variable is not set or is empty.
    func usualPaths(home: String, _ variable: (String) -> String?) -> [String] {
        switch self {
        case .pass: [variable("PASSWORD_STORE_DIR") ?? "\(home)/.password-store"]
        case .netrc: ["\(home)/.netrc"]
        case .gitCredentials:
            ["\(home)/.git-credentials", "\(variable("XDG_CONFIG_HOME") ?? "\(home)/.config")/git/credentials"]
        case .docker: ["\(variable("DOCKER_CONFIG") ?? "\(home)/.docker")/config.json"]
        case .pythonKeyring:
            ["\(variable("XDG_DATA_HOME") ?? "\(home)/.local/share")/python_keyring/keyring_pass.cfg"]
        case .secretService, .keepassxc, .bitwarden: []
        }
    }

    /// Reads the entries of a file.
    ///
    /// - Throws: ``Status/corrupt`` if the file as a whole has another format.
    func read(_ content: SecretBytes) throws(TokenKeepError) -> ForeignEntries {
        try content.withUnsafeBytes { bytes throws(TokenKeepError) in
            guard !ByteOrderMark.isUTF16(bytes) else {
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

    /// Makes the error for a file of another format.
    static func foreign(_ reason: String, hint: String? = nil) -> TokenKeepError {
        TokenKeepError(.corrupt, "the source is not of this format: \(reason)", hint: hint)
    }
}
