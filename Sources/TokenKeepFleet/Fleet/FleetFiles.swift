import CSystemShims
import Glibc
package import TokenKeepCore

/// The files of a fleet on this device, apart from its configuration.
package enum FleetFiles {
    static func remove(_ fleet: String) {
        guard let directory = try? FleetState.directory() else { return }
        for suffix in ["state", "cache", "lock"] { unlink("\(directory)/\(fleet).\(suffix)") }
    }

    /// The text of the authority's PEM file, for an invitation; nil if `path` is nil.
    ///
    /// - Throws: ``Status/invalid`` if the file is not PEM of at most 32 KiB.
    package static func authority(_ path: String?) throws(TokenKeepError) -> String? {
        guard let path else { return nil }
        guard let bytes = try PrivateFile.read(path, followsLinks: true), bytes.count <= 32768,
            let text = String(validating: bytes, as: UTF8.self), text.contains("-----BEGIN CERTIFICATE-----")
        else {
            throw TokenKeepError(
                .invalid, "\(path) has no certificate of an authority", hint: "a PEM file of at most 32 KiB")
        }
        return text
    }
}

/// The lock that lets only one process publish and obey orders for this device.
struct FleetLock: ~Copyable {
    private let descriptor: Int32

    /// Takes the lock without waiting.
    ///
    /// - Throws: ``Status/busy`` if another process holds the lock.
    init(_ fleet: String) throws(TokenKeepError) {
        let path = "\(try FleetState.directory())/\(fleet).lock"
        // The lock itself creates its file. If the file were put in place by a rename, two processes that start at the
        // same time could each lock a different file.
        try PrivateFile.makeDirectories(of: path)
        var descriptor: Int32 = -1
        switch tokenkeep_lock_try(AT_FDCWD, path, 0, 0, &descriptor) {
        case 0: self.descriptor = descriptor
        case EBUSY:
            throw TokenKeepError(
                .busy, "another process runs the fleet \(fleet) here", hint: "see tokenkeep fleet status")
        default: throw TokenKeepError(.io, "\(path) cannot be locked")
        }
    }

    deinit { tokenkeep_lock_release(descriptor) }
}

extension Fleet {
    /// Whether a process on this device publishes the sessions and obeys the orders of this fleet.
    package var isRunning: Bool { Fleet.isRunning(file.name) }

    /// Whether a process on this device publishes sessions and obeys orders for the fleet with this name.
    package static func isRunning(_ name: String) -> Bool {
        guard let path = try? "\(FleetState.directory())/\(name).lock" else { return false }
        return tokenkeep_lock_is_held(AT_FDCWD, path) == 1
    }
}
