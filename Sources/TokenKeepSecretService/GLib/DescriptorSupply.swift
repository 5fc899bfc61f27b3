import Glibc
import TokenKeepCore

/// Checks that file descriptors are free before GLib needs them.
///
/// If GLib gets no descriptor to wake up a thread, GLib ends the program.
enum DescriptorSupply {
    /// The maximum number of descriptors that one exchange of messages needs.
    static let forExchange = 4
    /// The maximum number of descriptors that a new connection needs.
    static let forConnection = 16

    /// Throws ``Status/unavailable`` if fewer than `count` descriptors are free.
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
