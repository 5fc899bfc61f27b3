import Glibc
import TokenKeepCore
import TokenKeepEngine

extension Provider {
    /// Unlocks the vault with the password that the command line or systemd gives, before the name is owned.
    ///
    /// A wrong password ends the program: its clients would take a locked vault for an empty one.
    func unlockAtStart() throws(TokenKeepError) {
        guard let password = try givenPassword() else { return }
        do throws(TokenKeepError) {
            try store.unlock(password, until: store.longDeadline)
        } catch {
            // A vault without a password needs none.
            guard error.status == .unsupported else { throw error }
        }
    }

    private func givenPassword() throws(TokenKeepError) -> SecretBytes? {
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
