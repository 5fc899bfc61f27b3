import Glibc
import TokenKeepCore
import TokenKeepSecretService
import TokenKeepSession

/// Notifications of the desktop (org.freedesktop.Notifications), by systemd's program busctl.
enum DesktopNotification {
    private static let milliseconds: UInt32 = 3000
    private static let programs = ["/usr/bin/busctl", "/bin/busctl"]

    /// Tells the user that a session needs a sign-in. Does nothing without a session bus or a desktop that shows it.
    ///
    /// - Parameter provider: the session's provider; nil if it names none.
    static func askForSignIn(_ name: ItemName, provider: String?) {
        // As in cron and timers: without the variable, the bus in the user's runtime directory.
        guard let program = programs.first(where: { access($0, X_OK) == 0 }), let address = try? BusAddress.find()
        else { return }
        let text = Terminal.printable("\(name): \(SignInCommand.text(name, provider: provider))")
        // The body may be read as markup.
        let body = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
        let call = SessionProgram(
            arguments: [
                program, "--address=\(address)", "--quiet", "--timeout=2", "call", "org.freedesktop.Notifications",
                "/org/freedesktop/Notifications", "org.freedesktop.Notifications", "Notify", "susssasa{sv}i",
                "tokenkeep", "0", "dialog-password", "Sign in again", body, "0", "0", "0",
            ], variables: [])
        _ = try? call.run(input: nil, until: Deadline(milliseconds: milliseconds), showsErrors: false)
    }
}
