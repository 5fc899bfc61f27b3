import Glibc
import TokenKeepCore
import TokenKeepKeys

/// The id of a machine. If several machines share a home directory, each machine applies only its own pending writes.
package struct MachineID: Sendable, Equatable {
    /// The 16 bytes of `/etc/machine-id` (machine-id(5)); zeros if no such file can be read.
    package let bytes: [UInt8]

    /// Makes a machine id from 16 bytes.
    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// The id of the machine on which this process runs.
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
