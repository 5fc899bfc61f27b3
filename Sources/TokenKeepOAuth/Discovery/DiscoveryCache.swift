import CSystemShims
import Glibc
import TokenKeepCore

/// The file that keeps a server's metadata for a day. Any failure only means that the server is asked again.
struct DiscoveryCache {
    private static let longestAge = 86_400
    private static let longestName = 200

    /// nil if there is no directory: then nothing is kept.
    private let directory: String?
    private let name: String

    init(_ issuer: WebAddress, in directory: String?) {
        self.directory = directory
        // Two issuers may have one name: each reader checks the issuer in the file.
        name = String(
            decoding: issuer.text.utf8.prefix(DiscoveryCache.longestName).map {
                switch $0 {
                case 0x2D, 0x2E, 0x30...0x39, 0x41...0x5A, 0x61...0x7A: $0
                default: UInt8(ascii: "_")
                }
            }, as: UTF8.self)
    }

    func read() -> SecretBytes? {
        guard let directory else { return nil }
        var status = stat()
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        guard stat("\(directory)/\(name).conf", &status) == 0,
            (0..<DiscoveryCache.longestAge).contains(now.tv_sec - status.st_mtim.tv_sec),
            let file = try? ConfigurationFile(named: name, in: directory)
        else { return nil }
        return try? SecretBytes(file.text)
    }

    func write(_ body: SecretBytes) {
        guard let directory, body.count <= ConfigurationFile.maximumLength else { return }
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

    private func makeDirectories(_ path: String) {
        var made = ""
        for part in path.split(separator: "/") {
            made += "/" + part
            mkdir(made, 0o700)
        }
    }
}
