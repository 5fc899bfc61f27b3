import Glibc
import TokenKeepCore

/// Checks for free file descriptors before GLib needs them: GLib ends the program if it gets none for a thread's
/// wake-up.
enum DescriptorSupply {
    /// The most descriptors that an exchange of messages needs.
    static let forExchange = 4
    /// The most descriptors that connecting needs.
    static let forConnection = 16

    /// Checks that `count` descriptors are free.
    ///
    /// - Throws: ``Status/unavailable`` if fewer are free.
    static func check(_ count: Int) throws(TokenKeepError) {
        var taken: [Int32] = []
        taken.reserveCapacity(count)
        defer { for descriptor in taken { close(descriptor) } }
        for _ in 0..<count {
            let descriptor =
                taken.first.map { fcntl($0, F_DUPFD_CLOEXEC, 0) } ?? open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { throw isShort }
            taken.append(descriptor)
        }
    }

    /// The error if too few descriptors are free.
    static let isShort = TokenKeepError(
        .unavailable, "too many open files to talk to the Secret Service",
        hint: "close some, or raise the limit of open files")
}
