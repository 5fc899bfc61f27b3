import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// `tokenkeep login …`.
struct LoginCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Show whether signing in unlocks the vault.",
        discussion: """
            The PAM module pam_tokenkeep.so gives the login's password to the vault: see docs/login.md.

              tokenkeep login status
            """.withWholeExamples,
        subcommands: [
            LoginStatusCommand.self, LoginUnlockCommand.self, LoginConfirmCommand.self, LoginPasswordCommand.self,
            LoginPurgeCommand.self,
        ])
}

/// The option of the commands that `pam_tokenkeep.so` runs. These commands print nothing and report their result by the
/// exit code.
struct LoginOptions: ParsableArguments {
    @Option(help: "The name of the PAM service.")
    var service: String

    /// Runs one step of a login, and throws the step's result as the program's exit code.
    func run(_ body: (VaultLogin) throws(TokenKeepError) -> LoginResult) throws {
        let result: LoginResult
        do throws(TokenKeepError) {
            // Use a fixed stack, because a mistake in the user's own stack would keep the vault locked.
            let store = try Store(StoreConfiguration(stackText: "any required vault"))
            result = try body(VaultLogin(store, service: service, hasSession: LoginOptions.hasSession))
        } catch {
            result = .notNow
        }
        throw ExitCode(result.rawValue)
    }

    /// Whether the user has an open session, which is the case if logind has made the user's directory in `/run/user`.
    private static var hasSession: Bool {
        var status = stat()
        return lstat("/run/user/\(geteuid())", &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            && status.st_uid == geteuid()
    }
}

/// `tokenkeep login unlock`. Reads the password from standard input.
struct LoginUnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock", abstract: "Unlock the vault with the login's password.", shouldDisplay: false)

    @OptionGroup
    var loginOptions: LoginOptions

    @Flag(help: "Give a vault without a password this password.")
    var create = false

    func run() throws {
        try loginOptions.run { login throws(TokenKeepError) in
            login.unlock(with: try SecretInput.readToEnd(of: STDIN_FILENO), isCreating: create)
        }
    }
}

/// `tokenkeep login confirm`.
struct LoginConfirmCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm", abstract: "Keep the vault unlocked, because a session begins.", shouldDisplay: false)

    @OptionGroup
    var loginOptions: LoginOptions

    func run() throws {
        try loginOptions.run { $0.confirm() }
    }
}

/// `tokenkeep login password`. Reads the old password, NUL, the new password and NUL from standard input.
struct LoginPasswordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "password", abstract: "Change the vault's password with the login's.", shouldDisplay: false)

    @OptionGroup
    var loginOptions: LoginOptions

    func run() throws {
        try loginOptions.run { login throws(TokenKeepError) in
            let input = try SecretInput.readToEnd(of: STDIN_FILENO)
            let (old, new) = try input.withUnsafeBytes { bytes throws(TokenKeepError) in
                let parts = bytes.split(separator: 0, omittingEmptySubsequences: false)
                guard parts.count == 3, parts[2].isEmpty else {
                    throw TokenKeepError(.invalid, "standard input does not hold two passwords")
                }
                return (
                    try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: parts[0])),
                    try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: parts[1]))
                )
            }
            return login.follow(from: old, to: new)
        }
    }
}

/// `tokenkeep login purge`. The program `tokenkeep-purge` runs this command as the user after the user's last session
/// has ended.
///
/// The command touches no file, because the user's home directory may no longer be mounted.
struct LoginPurgeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge", abstract: "Lock every vault of the user.", shouldDisplay: false)

    func run() throws {
        try ClassKeyStore().removal.purgeAllVaults()
    }
}
