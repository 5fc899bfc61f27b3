import Glibc
import TokenKeepCore

/// Asks for free file descriptors before GLib does: where it gets none for the wake-up of a thread, it ends the program.
enum DescriptorSupply {
    /// What an exchange of messages takes at most.
    static let forExchange = 4
    /// What loading the libraries and connecting take at most.
    static let forConnection = 16

    /// - Throws: ``Status/unavailable`` where fewer than `count` descriptors are free.
    static func check(_ count: Int) throws(TokenKeepError) {
        var taken: [Int32] = []
        taken.reserveCapacity(count)
        defer { for descriptor in taken { close(descriptor) } }
        for _ in 0..<count {
            let descriptor =
                taken.first.map { fcntl($0, F_DUPFD_CLOEXEC, 0) } ?? open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw TokenKeepError(
                    .unavailable, "too many open files to talk to the Secret Service",
                    hint: "close some, or raise the limit of open files")
            }
            taken.append(descriptor)
        }
    }
}
