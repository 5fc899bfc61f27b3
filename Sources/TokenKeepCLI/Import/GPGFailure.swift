import Glibc
import TokenKeepCore
import TokenKeepTerminal

/// The reason why gpg did not decrypt a file, from gpg's status lines (doc/DETAILS of GnuPG). Contains no secret.
enum GPGFailure {
    /// The key needs a passphrase. Nobody could be prompted, nobody answered, or the passphrase was wrong.
    case unanswered(String)
    case noKey
    case noMessage
    case other(String)

    /// Error codes of libgpg-error, which are the low 16 bits of the numbers in gpg's status lines.
    private enum Code {
        static let badPassphrase = 11
        static let timeout = 62
        static let noAgent = 77
        static let noPinentry = 85
        static let noPinentryProgram = 86
        static let cancelled = 99
        static let fullyCancelled = 198
    }

    /// Reads the status lines after gpg has ended.
    ///
    /// - Parameter status: the reading end of the pipe with the status lines. A read of it must not block.
    init(status: Int32, exitCode: Int32) {
        var bytes = [UInt8](repeating: 0, count: 1 << 14)
        let count = max(0, read(status, &bytes, bytes.count))
        let lines = String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").map {
            $0.split(separator: " ").dropFirst().map(String.init)
        }
        let codes = lines.compactMap { words in
            words.count > 2 && words[0] == "ERROR" ? Int(words[2]).map { $0 & 0xFFFF } : nil
        }
        let reason = codes.lazy.compactMap(GPGFailure.unanswered).first
        if let reason {
            self = .unanswered(reason)
        } else if lines.contains(where: { $0.first == "NO_SECKEY" }) {
            self = .noKey
        } else if lines.contains(where: { $0.first == "NODATA" }) {
            self = .noMessage
        } else {
            self = .other("gpg cannot decrypt it (exit code \(exitCode))")
        }
    }

    private static func unanswered(_ code: Int) -> String? {
        switch code {
        case Code.noPinentry, Code.noPinentryProgram:
            "its key is locked, and gpg has no pinentry to ask for the passphrase"
        case Code.cancelled, Code.fullyCancelled: "its key is locked, and the question for the passphrase was cancelled"
        case Code.timeout: "its key is locked, and nobody answered the question for the passphrase"
        case Code.badPassphrase: "its key is locked, and the passphrase was wrong"
        case Code.noAgent: "gpg cannot reach its agent, which keeps the keys"
        default: nil
        }
    }

    /// Whether gpg should ask for no further passphrase: nobody gave one, it was wrong, or nobody could be asked.
    var isUnanswered: Bool { if case .unanswered = self { true } else { false } }

    var text: String {
        switch self {
        case .unanswered(let reason), .other(let reason): reason
        case .noKey: "its secret key is not in gpg's keyring"
        case .noMessage: "it is not encrypted by gpg"
        }
    }

    /// Advice for the user; nil if there is none.
    func hint(for path: String) -> String? {
        switch self {
        case .unanswered:
            "unlock the key, then import again: GPG_TTY=$(tty) gpg --decrypt \(ShellWord.quoted(path)) >/dev/null"
        case .noKey: "import the key: gpg --import FILE"
        case .noMessage: nil
        case .other: "gpg says why: gpg --decrypt \(ShellWord.quoted(path)) >/dev/null"
        }
    }
}
