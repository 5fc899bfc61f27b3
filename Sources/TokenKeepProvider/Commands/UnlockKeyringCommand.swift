import CGcrypt
import CSystemShims
import CSystemdBus
import Glibc
import TokenKeepCore
import TokenKeepTerminal

/// `unlock-keyring`: unlocks the collections of the keyring that owns `org.freedesktop.secrets`, without its window.
enum UnlockKeyringCommand {
    /// Unlocks every locked collection that the password opens, and prints their labels.
    ///
    /// - Throws: ``Status/denied`` if the password opens none; ``Status/unsupported`` if the keyring takes no password
    ///   from its clients.
    static func run(_ options: ProviderOptions) throws(TokenKeepError) {
        tokenkeep_forbid_cores()
        guard tokenkeep_gcrypt_start() == 0 else { throw TokenKeepError(.internal, "libgcrypt cannot be used") }
        let bus = try Bus()
        let keyring = try ForeignKeyring(bus)
        try refuseProvider(bus, keyring)
        let locked = try keyring.collections().filter(\.isLocked)
        guard !locked.isEmpty else { return print("no collection of the keyring is locked") }
        guard try keyring.takesPasswords() else { throw takesNone(bus, keyring) }
        let password = try password(options)
        var (opened, left) = ([String](), [String]())
        for collection in locked {
            if try keyring.unlock(collection.path, with: password) {
                opened.append(collection.label)
            } else {
                left.append(collection.label)
            }
        }
        guard !opened.isEmpty else {
            throw TokenKeepError(.denied, "the password is wrong for \(left.joined(separator: ", "))")
        }
        print("unlocked \(opened.map(printable).joined(separator: ", "))")
        guard !left.isEmpty else { return }
        Log.line("\(left.joined(separator: ", ")): locked, with another password; run it again with that password")
    }

    private static func password(_ options: ProviderOptions) throws(TokenKeepError) -> SecretBytes {
        if let file = options.passwordFile {
            return try PasswordSource.file(file, named: "the password file").read()
        }
        if let descriptor = options.passwordDescriptor { return try PasswordSource.descriptor(descriptor).read() }
        return try HiddenInput.ask("password of the keyring: ", .password)
    }

    /// Throws ``Status/unsupported`` if a vault is the keyring: its password is that of `tokenkeep unlock`.
    private static func refuseProvider(_ bus: Bus, _ keyring: ForeignKeyring) throws(TokenKeepError) {
        guard let owner = bus.process(of: keyring.owner), owner == bus.process(of: Provider.ownName) else { return }
        throw TokenKeepError(.unsupported, "a vault of TokenKeep is the keyring", hint: "tokenkeep unlock")
    }

    private static func takesNone(_ bus: Bus, _ keyring: ForeignKeyring) -> TokenKeepError {
        let name = bus.process(of: keyring.owner).map(CallingProgram.name(of:)) ?? "the keyring"
        return TokenKeepError(
            .unsupported, "\(name) takes its password in its own window alone",
            hint: "unlock it there, or from a terminal of the desktop: tokenkeep load SERVICE ACCOUNT --interactive")
    }

    /// The text for standard output, with "?" for each control character.
    private static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
    }
}
