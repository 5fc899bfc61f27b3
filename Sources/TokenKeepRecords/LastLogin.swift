package import TokenKeepCore
import TokenKeepKeys

/// The result of the last login that used the vault, stored in the vault's file `login` (docs/format.md, section 1).
///
/// The result is used only for hints to the user. An unreadable file counts as missing.
package struct LastLogin: Sendable, Equatable {
    package enum Outcome: String, Sendable {
        /// The login's password opened the vault, or the vault's password was changed with the login's password.
        case unlocked
        /// The login's password does not open the vault.
        case wrongPassword = "wrong-password"
        /// The login was ended before the key of its password had been derived.
        case tooSlow = "too-slow"
        /// The login session began without a password, for example by fingerprint, by security key or automatically.
        case noPassword = "no-password"
        /// The vault's files or the kernel's keyring could not be used.
        case unreachable
        /// The login's password was changed, but the vault's password could not be changed with it.
        case notFollowed = "not-followed"
    }

    package let time: UnixTime
    /// The name of the PAM service.
    package let service: String
    package let outcome: Outcome

    package init(time: UnixTime = .now, service: String, outcome: Outcome) {
        self.time = time
        self.service = LastLogin.isName(service) ? service : "-"
        self.outcome = outcome
    }

    private static let file = "login"
    private static let maximumLength = 128

    /// Whether the file can contain this service name: 1 to 64 ASCII letters, digits and characters of `._+@-`.
    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                let character = Character(UnicodeScalar(byte))
                return character.isASCII && (character.isLetter || character.isNumber || "._+@-".contains(character))
            }
    }

    /// Parses the file: `TIME SERVICE WORD` and a newline.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= LastLogin.maximumLength, bytes.last == UInt8(ascii: "\n"),
            let text = String(validating: bytes.dropLast(), as: UTF8.self)
        else { return nil }
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        // Check the digits first, because Int64 also accepts a sign.
        guard words.count == 3, words[0].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let time = Int64(words[0]), LastLogin.isName(String(words[1])),
            let outcome = Outcome(rawValue: String(words[2]))
        else { return nil }
        self.init(time: UnixTime(time), service: String(words[1]), outcome: outcome)
    }

    /// Reads the file; nil if the file is missing, unreadable or damaged.
    package static func read(_ records: Records) -> LastLogin? {
        guard let directory = directory(records),
            let bytes = (try? VaultFiles.read(file, in: directory.descriptor, atMost: maximumLength)) ?? nil
        else { return nil }
        return LastLogin(bytes)
    }

    /// Writes the file, and ignores a failure. A file that is too long or not regular is not replaced.
    package func write(_ records: Records) {
        guard let directory = LastLogin.directory(records) else { return }
        do throws(TokenKeepError) {
            _ = try VaultFiles.read(LastLogin.file, in: directory.descriptor, atMost: LastLogin.maximumLength)
            try Array("\(time.rawValue) \(service) \(outcome.rawValue)\n".utf8).lent { bytes throws(TokenKeepError) in
                try VaultFiles.replace(LastLogin.file, in: directory.descriptor, with: bytes, .none)
            }
        } catch {}
    }

    /// Removes the file after the user changed the vault's password, because the login's password may now differ.
    package static func remove(_ records: Records) {
        guard let directory = directory(records) else { return }
        try? VaultFiles.remove(file, in: directory.descriptor)
    }

    private static func directory(_ records: Records) -> VaultDirectory? {
        (try? records.opener.path()).flatMap { (try? VaultDirectory.open($0)) ?? nil }
    }
}
