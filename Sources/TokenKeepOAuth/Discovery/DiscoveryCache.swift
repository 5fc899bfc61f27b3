import CSodium
import CSystemShims
import Glibc
import TokenKeepCore

/// The file that caches a server's metadata for a day. Errors of the file are ignored; the server is then asked again.
struct DiscoveryCache {
    private static let longestAge = 86_400
    private static let longestName = 120

    /// The directory of the cache; nil if nothing is cached.
    private let directory: String?
    private let name: String

    /// - Parameter caFile: the file of trusted authorities. Metadata fetched with another file are cached separately.
    init(_ issuer: WebAddress, caFile: String?, in directory: String?) {
        self.directory = directory
        let readable = String(
            decoding: issuer.text.utf8.prefix(DiscoveryCache.longestName).map {
                switch $0 {
                case 0x2D, 0x2E, 0x30...0x39, 0x41...0x5A, 0x61...0x7A: $0
                default: UInt8(ascii: "_")
                }
            }, as: UTF8.self)
        name = "\(readable)-\(DiscoveryCache.hash("\(issuer.text)\n\(caFile ?? "")"))"
    }

    private static func hash(_ text: String) -> String {
        var hash = [UInt8](repeating: 0, count: 16)
        let bytes = Array(text.utf8)
        crypto_generichash(&hash, hash.count, bytes, UInt64(bytes.count), nil, 0)
        let text = try? hash.withUnsafeBytes { bytes throws(TokenKeepError) in try Base64Text.encoded(bytes, .url) }
        return text?.utf8String ?? ""
    }

    /// Whether the cached metadata are less than a day old and are not marked as expired.
    var isFresh: Bool {
        guard let directory else { return false }
        var status = stat()
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return stat("\(directory)/\(name).conf", &status) == 0
            && (0..<DiscoveryCache.longestAge).contains(now.tv_sec - status.st_mtim.tv_sec)
    }

    /// Reads the cached metadata, also if they are expired; nil if nothing is cached.
    func read() -> SecretBytes? {
        guard let directory, let file = try? ConfigurationFile(named: name, in: directory) else { return nil }
        return try? SecretBytes(file.text)
    }

    func write(_ body: SecretBytes) {
        guard let directory, body.count <= ConfigurationFile.maximumLength else { return }
        guard (try? OwnedPlace.check("\(directory)/\(name).conf")) != nil else { return }
        makeDirectories(directory)
        let temporary = "\(directory)/.\(name).\(getpid())"
        let descriptor = tokenkeep_openat(
            AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        let written = body.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        guard written == body.count, rename(temporary, "\(directory)/\(name).conf") == 0 else {
            unlink(temporary)
            return
        }
    }

    /// Marks the metadata as expired. They are kept until the server sends new ones.
    func markStale() {
        guard let directory else { return }
        let times = [timespec(), timespec()]
        utimensat(AT_FDCWD, "\(directory)/\(name).conf", times, AT_SYMLINK_NOFOLLOW)
    }

    private func makeDirectories(_ path: String) {
        var made = ""
        for part in path.split(separator: "/") {
            made += "/" + part
            mkdir(made, 0o700)
        }
    }
}
