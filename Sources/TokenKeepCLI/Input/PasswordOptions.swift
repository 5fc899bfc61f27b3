import ArgumentParser
import Glibc
import TokenKeepCore

/// The options that supply the vault's password without a terminal.
struct PasswordOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The vault's password: the first line of a file of yours or root's; the vault then stays unlocked. Else $TOKENKEEP_PASSWORD_FILE.",
            valueName: "file"),
        completion: .file())
    var passwordFile: String?

    @Option(
        name: .customLong("password-fd"),
        help: ArgumentHelp("The same from an open descriptor.", valueName: "number"))
    var passwordDescriptor: Int32?

    /// The environment variable that contains the path of a password file, like `--password-file`.
    static let variable = PasswordSource.variable

    func validate() throws {
        guard passwordFile == nil || passwordDescriptor == nil else {
            throw ValidationError("--password-file and --password-fd exclude each other")
        }
        if let passwordDescriptor, passwordDescriptor < 0 {
            throw ValidationError("--password-fd is not the number of a descriptor")
        }
    }

    /// Whether an option supplies the password. A file that the environment names does not count.
    var isGiven: Bool { passwordFile != nil || passwordDescriptor != nil }

    /// The command-line options that give another TokenKeep program the password of this program's options; empty if
    /// the password is not in the options.
    var givenWords: [String] {
        if let passwordDescriptor { return ["--password-fd", "\(passwordDescriptor)"] }
        return passwordFile.map { ["--password-file", $0] } ?? []
    }

    /// The command-line options that give another TokenKeep program this password's source; empty if there is none.
    var words: [String] {
        guard !isGiven else { return givenWords }
        guard !Privileges.areRaised, let value = getenv(Self.variable), value.pointee != 0 else { return [] }
        return ["--password-file", String(cString: value)]
    }

    /// Throws ``Status/invalid`` if the password would be read from standard input, which the command needs for other
    /// input.
    func refuseStandardInput(because reason: String) throws(TokenKeepError) {
        guard source()?.isStandardInput == true else { return }
        throw TokenKeepError(.invalid, "--password-fd 0 cannot be used here: \(reason)", hint: "use another descriptor")
    }

    /// The source of the password in the options or the environment; nil if there is none.
    func source() -> PasswordSource? {
        if let passwordDescriptor { return .descriptor(passwordDescriptor) }
        if let passwordFile { return .file(passwordFile, named: "the password file") }
        return PasswordSource.fromEnvironment()
    }
}

/// The options that supply a new password of the vault without a terminal.
struct NewPasswordOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The new password: the first line of a file of yours or root's.", valueName: "file"),
        completion: .file())
    var newPasswordFile: String?

    @Option(
        name: .customLong("new-password-fd"),
        help: ArgumentHelp("The new password: the first line of an open descriptor.", valueName: "number"))
    var newPasswordDescriptor: Int32?

    func validate() throws {
        guard newPasswordFile == nil || newPasswordDescriptor == nil else {
            throw ValidationError("--new-password-file and --new-password-fd exclude each other")
        }
        if let newPasswordDescriptor, newPasswordDescriptor < 0 {
            throw ValidationError("--new-password-fd is not the number of a descriptor")
        }
    }

    /// The source of the new password in the options; nil if there is none.
    func source() -> PasswordSource? {
        if let newPasswordDescriptor { return .descriptor(newPasswordDescriptor) }
        return newPasswordFile.map { .file($0, named: "the file of the new password") }
    }

    /// Reads the new password from the source in the options or, without one, from the terminal.
    ///
    /// - Parameter limit: the time limit for the writer of a pipe, in milliseconds; nil for two minutes.
    func password(within limit: UInt32?) throws(TokenKeepError) -> SecretBytes {
        try PasswordInput.newPassword(or: source(), within: limit)
    }
}
