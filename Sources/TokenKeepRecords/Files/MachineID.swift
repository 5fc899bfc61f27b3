import Glibc
import TokenKeepCore
import TokenKeepKeys

/// A machine's id. In a home that several machines share, each machine drains only its own pending writes.
package struct MachineID: Sendable, Equatable {
    /// 16 bytes: those of `/etc/machine-id` (machine-id(5)), or zeros if that file is missing.
    package let bytes: [UInt8]

    /// A machine with the given id of 16 bytes.
    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// This machine.
    package static let current: MachineID = {
        for path in ["/etc/machine-id", "/var/lib/dbus/machine-id"] {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var text = [UInt8](repeating: 0, count: 32)
            guard read(descriptor, &text, text.count) == text.count else { continue }
            if let bytes = Hexadecimal.bytes(String(decoding: text, as: UTF8.self), count: 16) {
                return MachineID(bytes: bytes)
            }
        }
        return MachineID(bytes: [UInt8](repeating: 0, count: 16))
    }()
}
