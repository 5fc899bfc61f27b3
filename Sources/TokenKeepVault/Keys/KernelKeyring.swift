import CSystemShims
import Glibc
import SystemPackage
import TokenKeepCore

/// The kernel's keyring of the user, as the vault uses it (keyrings(7)).
enum KernelKeyring {
    /// Whether the program runs with more rights than its caller, whose keyring it would reach.
    static let isForbidden = tokenkeep_is_secure_execution() != 0 || getuid() != geteuid()

    /// Why keys cannot be kept in it; nil where they can, as far as that is seen without trying. In a user namespace the
    /// keyring is the namespace's own.
    static let obstacle: String? =
        if isForbidden {
            "the program runs with raised privileges"
        } else if tokenkeep_is_in_user_namespace() != 0 {
            "the program runs in a user namespace, whose keyring is its own"
        } else {
            nil
        }

    /// Makes a key that ends after `seconds`, unless that is nil.
    ///
    /// - Returns: why it could not be made; nil where it is there.
    static func publish(_ key: SecretBytes, as description: String, endsAfter seconds: UInt32?) -> String? {
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
    static func probe() -> String? {
        guard let nothing = try? SecretBytes(count: 1, initialize: { _ in }) else { return "there is no memory" }
        let description = "tokenkeep:probe:\(getpid())"
        defer { _ = purge(description) }
        return publish(nothing, as: description, endsAfter: 1)
    }

    /// Reads a key of 32 bytes; nil where there is none any more.
    static func read(_ description: String, in arena: SecretArena) throws(TokenKeepError) -> SecretBytes? {
        var error: Int32 = 0
        let key = try SecretBytes(count: KeyHierarchy.keyLength, in: arena) {
            error = tokenkeep_keyring_read(description, $0.baseAddress, $0.count)
        }
        return error == 0 ? key : nil
    }

    /// Ends every key whose description begins so.
    ///
    /// - Returns: why one may be left; nil where none is.
    static func purge(_ prefix: String) -> String? {
        let error = tokenkeep_keyring_purge(prefix)
        // Where there is no keyring there is no key in it.
        return [0, ENOSYS, EPERM, EACCES, ENOKEY].contains(error) ? nil : "\(Errno(rawValue: error))"
    }
}
