import Glibc
package import TokenKeepCore

/// The files of a fleet on this device, beside its configuration.
package enum FleetFiles {
    static func remove(_ fleet: String) {
        guard let directory = try? FleetState.directory() else { return }
        for suffix in ["state", "cache", "lock"] { unlink("\(directory)/\(fleet).\(suffix)") }
    }

    /// The authority's file as text, for an invitation; nil for none.
    ///
    /// - Throws: ``Status/invalid`` if the file is no PEM of at most 32 KiB.
    package static func authority(_ path: String?) throws(TokenKeepError) -> String? {
        guard let path else { return nil }
        guard let bytes = try PrivateFile.read(path), bytes.count <= 32768,
            let text = String(validating: bytes, as: UTF8.self), text.contains("-----BEGIN CERTIFICATE-----")
        else {
            throw TokenKeepError(
                .invalid, "\(path) has no certificate of an authority", hint: "a PEM file of at most 32 KiB")
        }
        return text
    }
}

/// The right to be the device in the registry: one process has it.
struct FleetLock: ~Copyable {
    private static let looks = 20
    private static let pauseMilliseconds: Int32 = 10

    private let descriptor: Int32

    /// - Throws: ``Status/busy`` if another process has it for longer than 200 ms.
    init(_ fleet: String) throws(TokenKeepError) { descriptor = try FleetLock.open(fleet) }

    private static func open(_ fleet: String) throws(TokenKeepError) -> Int32 {
        let path = "\(try FleetState.directory())/\(fleet).lock"
        if access(path, F_OK) != 0 { try PrivateFile.write([], to: path) }
        let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw TokenKeepError(.io, "\(path) cannot be opened") }
        // Fleet.isRunning holds the lock for a moment.
        for _ in 0..<looks {
            guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return descriptor }
            _ = poll(nil, 0, pauseMilliseconds)
        }
        close(descriptor)
        throw TokenKeepError(.busy, "another process runs the fleet \(fleet) here", hint: "see tokenkeep fleet status")
    }

    deinit { close(descriptor) }
}

extension Fleet {
    /// Whether a process on this device runs the fleet: publishes, and obeys orders.
    package var isRunning: Bool { Fleet.isRunning(file.name) }

    /// Whether a process on this device runs the fleet of a name.
    package static func isRunning(_ name: String) -> Bool {
        guard let path = try? "\(FleetState.directory())/\(name).lock" else { return false }
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0
    }
}
