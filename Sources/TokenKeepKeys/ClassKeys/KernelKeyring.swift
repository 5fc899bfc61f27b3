import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore

/// The keyring that the kernel keeps for each user (keyrings(7)).
package enum KernelKeyring {
    /// Whether the program runs with raised privileges, and must therefore not use the keyring of its caller.
    ///
    /// Computed at each use, because a program may drop its privileges while it runs.
    package static var isForbidden: Bool { Privileges.areRaised }

    /// The reason why the keyring cannot be used; nil if no reason is known. The keyring itself is not tried.
    ///
    /// In a user namespace, the program's keyring is not that of the user's other processes.
    package static var obstacle: String? {
        if isForbidden { return "the program runs with raised privileges" }
        guard tokenkeep_is_in_user_namespace() != 0 else { return nil }
        return "the program runs in a user namespace, whose keyring is its own"
    }

    /// Puts a key into the keyring. The key expires after `seconds`, or never if `seconds` is nil.
    ///
    /// - Returns: the reason why the kernel refused the key; nil if the keyring has the key.
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

    /// Tries to keep an empty key in the keyring. Returns the reason of a failure; nil after a success.
    package static func probe() -> String? {
        guard let nothing = try? SecretBytes(count: 1, initialize: { _ in }) else { return "there is no memory" }
        let description = "tokenkeep:probe:\(getpid())"
        defer { remove(description) }
        return publish(nothing, as: description, endsAfter: 1)
    }

    /// Reads a key of at most `count` bytes; nil if there is no such key.
    ///
    /// If TokenKeep's agent (a process that holds the user's keys) has the key, the key is read from the agent's
    /// keyring.
    package static func read(_ description: String, atMost count: Int) throws(TokenKeepError) -> SecretBytes? {
        var length = 0
        var error: Int32 = 0
        var isHeld: Int32 = 0
        let key = try SecretBytes(count: count) {
            error = tokenkeep_keyring_read(description, $0.baseAddress, $0.count, &length, &isHeld)
        }
        guard error == 0 else { return nil }
        return length == count ? key : try key.prefix(length)
    }

    /// The length of a key in bytes; nil if there is no such key.
    package static func length(of description: String) -> Int? {
        var length = 0
        var isHeld: Int32 = 0
        let error = tokenkeep_keyring_read(description, nil, 0, &length, &isHeld)
        return error == 0 || error == EMSGSIZE ? length : nil
    }

    /// Whether TokenKeep's agent has this key, so that the key ends with the agent; nil if there is no such key.
    ///
    /// The agent is a process that holds the user's keys.
    static func isHeldByAgent(_ description: String) -> Bool? {
        var length = 0
        var isHeld: Int32 = 0
        let error = tokenkeep_keyring_read(description, nil, 0, &length, &isHeld)
        return error == 0 || error == EMSGSIZE ? isHeld != 0 : nil
    }

    /// The descriptions of the user's keys that begin with `prefix`.
    package static func descriptions(beginningWith prefix: String) -> [String] {
        let found = MutexGuarded<[String]>([])
        let error = tokenkeep_keyring_each(
            prefix,
            { description, data in
                guard let description, let data, let text = String(validatingCString: description) else { return }
                Unmanaged<MutexGuarded<[String]>>.fromOpaque(data).takeUnretainedValue().withLock { $0.append(text) }
            }, Unmanaged.passUnretained(found).toOpaque())
        return error == 0 ? found.withLock { $0 } : []
    }

    /// The result of purging keys.
    package enum Purge: Equatable {
        /// None of the keys is in the keyring any more.
        case done
        /// The keyring cannot be reached, for this reason. Keys that other programs put into the keyring stay.
        case unreachable(String)
        /// A key could not be removed, for this reason.
        case failed(String)
    }

    /// Purges the key with this description. A failure is ignored.
    ///
    /// Does not read the keyring's other keys, because a user may have many.
    package static func remove(_ description: String) { _ = tokenkeep_keyring_remove(description) }

    /// Purges every key whose description begins with `prefix`, but not the key with the description `kept`.
    package static func purge(_ prefix: String, keeping kept: String? = nil) -> Purge {
        var wasRead: Int32 = 0
        let error = tokenkeep_keyring_purge(prefix, kept, &wasRead)
        // If the kernel has no keyring, there is no key to purge.
        if error == 0 || (wasRead == 0 && (error == ENOSYS || error == ENOKEY)) { return .done }
        guard wasRead == 0, error == EPERM || error == EACCES else { return .failed("\(Errno(rawValue: error))") }
        return .unreachable("the use of kernel keyrings is forbidden here")
    }
}
