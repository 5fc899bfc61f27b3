/// The names of a vault's files (docs/format.md, section 1). A deletion removes no file with another name.
enum VaultFileNames {
    /// The directories inside `era-N`. Each directory contains only files.
    static let eraFolders = [EraDirectory.recordsFolder, "pending", "used", "holders", sessions]
    /// The directory of session files, both in the vault's directory and in `era-N`.
    static let sessions = "sessions"

    /// Whether a name in the vault's directory is that of a vault's file.
    static func isOfVault(_ name: String) -> Bool {
        ["lock", "login", "changes", EraDirectory.link].contains(stem(of: name))
    }

    /// Whether a name in the vault's directory `sessions` is that of a vault's file.
    static func isOfSessions(_ name: String) -> Bool {
        let stem = stem(of: name)
        return ["lock", "slots", "keeper", "outbox"].contains(stem)
            || (stem.hasPrefix("device@") && isHexadecimal(stem.dropFirst("device@".count)))
    }

    /// Whether a name in `era-N` is that of a vault's file.
    static func isOfEra(_ name: String) -> Bool {
        ([Keyfile.name, EraRemoval.making] + HeaderFiles.names).contains(stem(of: name))
    }

    /// Whether a name in the directory `folder` of `era-N` is that of a vault's file.
    static func isOfFolder(_ folder: String, _ name: String) -> Bool {
        let stem = stem(of: name)
        switch folder {
        // A file in `used` has a name MODULE@MACHINE, a file in `holders` a name ID.MODULE@MACHINE.
        case "used", "holders":
            guard let at = stem.lastIndex(of: "@"), isHexadecimal(stem[stem.index(after: at)...]) else { return false }
            return folder == "used" || (stem.prefix(33).last == "." && isID(stem.prefix(32)))
        case sessions: return isID(stem.hasSuffix(".active") ? stem.dropLast(".active".count) : stem[...])
        default: return isID(stem[...])
        }
    }

    /// The name without the endings of unfinished files (`.tmp`) and of files set aside (`.corrupt-N`).
    private static func stem(of name: String) -> String {
        var parts = name.split(separator: ".", omittingEmptySubsequences: false)
        while parts.count > 1, let last = parts.last, last == "tmp" || isSetAside(last) { parts.removeLast() }
        return parts.joined(separator: ".")
    }

    private static func isSetAside(_ ending: Substring) -> Bool {
        ending.hasPrefix("corrupt-") && Int(ending.dropFirst("corrupt-".count)) != nil
    }

    private static func isID(_ text: Substring) -> Bool { text.utf8.count == 32 && isHexadecimal(text) }

    private static func isHexadecimal(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.count.isMultiple(of: 2)
            && Hexadecimal.bytes(String(text), count: text.utf8.count / 2) != nil
    }
}
