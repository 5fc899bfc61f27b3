import Glibc
import TokenKeepCore
import TokenKeepEngine

/// Unlocks the vault at the start with a password from the command line or systemd.
enum StartUnlock {
    /// Unlocks the vault with the given password, if there is one.
    ///
    /// A wrong password ends the program, because clients would mistake a locked vault for an empty one.
    static func unlock(_ store: Store, _ options: ProviderOptions) throws(TokenKeepError) {
        guard let password = try givenPassword(options) else { return }
        do throws(TokenKeepError) {
            try store.unlock(password, until: store.longDeadline)
        } catch {
            // A vault without a password needs no unlock, so this error is ignored.
            guard error.status == .unsupported else { throw error }
        }
    }

    private static func givenPassword(_ options: ProviderOptions) throws(TokenKeepError) -> SecretBytes? {
        if let file = options.passwordFile { return try PasswordReading.file(file) }
        if let descriptor = options.passwordDescriptor {
            defer { close(descriptor) }
            return try PasswordReading.line(of: descriptor, "the descriptor \(descriptor)")
        }
        guard let folder = getenv("CREDENTIALS_DIRECTORY") else { return nil }
        let path = String(cString: folder) + "/tokenkeep.password"
        guard access(path, F_OK) == 0 else { return nil }
        return try PasswordReading.file(path)
    }
}
