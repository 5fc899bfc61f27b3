import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore

/// The kernel's keyring of the user, as the vault uses it (keyrings(7)).
package enum KernelKeyring {
    /// Whether the program runs with more rights than its caller, whose keyring it would reach.
    ///
    /// Looked at anew each time, as the next: a program may give up its rights, or enter a namespace, while it runs.
    package static var isForbidden: Bool { Privileges.areRaised }

    /// Why keys cannot be kept in it; nil where they can, as far as that is seen without trying. In a user namespace the
    /// keyring is the namespace's own.
    package static var obstacle: String? {
        if isForbidden { return "the program runs with raised privileges" }
        guard tokenkeep_is_in_user_namespace() != 0 else { return nil }
        return "the program runs in a user namespace, whose keyring is its own"
    }

    /// Makes a key that ends after `seconds`, unless that is nil.
    ///
    /// - Returns: why it could not be made; nil where it is there.
    package static func publish(_ key: SecretBytes, as description: String, endsAfter seconds: UInt32?) -> String? {
        let error = key.withUnsafeBytes {
            tokenkeep_keyring_publish(description, $0.baseAddress, $0.count, seconds ?? 0)
        }
        switch error {
        case 0: return nil
        case EDQUOT: return "the user has as many keys in the kernel as are allowed"
        case ENOSYS: return "this kernel has no keyrings"
        case EPERM, EACCES: return "the use of kernel keyrings is forbidden here"
        default: return "the kernel refuses it: \(Errno(rawValue: error))"
        }
    }

    /// Why keys cannot be kept in it, by trying with one that holds nothing; nil where they can.
    package static func probe() -> String? {
        guard let nothing = try? SecretBytes(count: 1, initialize: { _ in }) else { return "there is no memory" }
        let description = "tokenkeep:probe:\(getpid())"
        defer { _ = purge(description) }
        return publish(nothing, as: description, endsAfter: 1)
    }

    /// Reads a key of at most `count` bytes; nil if there is none any more.
    package static func read(_ description: String, atMost count: Int) throws(TokenKeepError) -> SecretBytes? {
        var length = 0
        var error: Int32 = 0
        let key = try SecretBytes(count: count) {
            error = tokenkeep_keyring_read(description, $0.baseAddress, $0.count, &length)
        }
        guard error == 0 else { return nil }
        return length == count
            ? key
            : try key.withUnsafeBytes { bytes throws(TokenKeepError) in
                try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes.prefix(length)))
            }
    }

    /// The descriptions of the user's keys that begin so.
    package static func descriptions(beginningWith prefix: String) -> [String] {
        let found = Guarded<[String]>([])
        let error = tokenkeep_keyring_each(
            prefix,
            { description, data in
                guard let description, let data, let text = String(validatingCString: description) else { return }
                Unmanaged<Guarded<[String]>>.fromOpaque(data).takeUnretainedValue().withLock { $0.append(text) }
            }, Unmanaged.passUnretained(found).toOpaque())
        return error == 0 ? found.withLock { $0 } : []
    }

    /// What became of keys that were to end.
    package enum Purge: Equatable {
        /// None is left.
        case done
        /// The keyring cannot be reached: what other programs keep in it stays.
        case unreachable(String)
        /// One may be left.
        case failed(String)
    }

    /// Ends every key whose description begins so.
    package static func purge(_ prefix: String) -> Purge {
        var wasRead: Int32 = 0
        let error = tokenkeep_keyring_purge(prefix, &wasRead)
        // Where there is no keyring there is no key in it.
        if error == 0 || (wasRead == 0 && (error == ENOSYS || error == ENOKEY)) { return .done }
        guard wasRead == 0, error == EPERM || error == EACCES else { return .failed("\(Errno(rawValue: error))") }
        return .unreachable("the use of kernel keyrings is forbidden here")
    }
}
