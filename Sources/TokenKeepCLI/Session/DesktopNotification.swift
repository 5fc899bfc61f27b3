import Glibc
import TokenKeepCore
import TokenKeepSecretService
import TokenKeepSession
import TokenKeepTerminal

/// Shows notifications on the desktop (org.freedesktop.Notifications), by running systemd's program busctl.
enum DesktopNotification {
    private static let milliseconds: UInt32 = 3000
    private static let programs = ["/usr/bin/busctl", "/bin/busctl"]

    /// Notifies the user that a session needs a sign-in. Does nothing if there is no session bus or no notification
    /// service.
    ///
    /// - Parameter provider: the session's provider; nil if the session names none.
    static func askForSignIn(_ name: ItemName, provider: String?) {
        // BusAddress.find also finds the bus in the user's runtime directory, because cron and timers do not set the
        // variable of the bus.
        guard let program = programs.first(where: { access($0, X_OK) == 0 }), let address = try? BusAddress.find()
        else { return }
        let text = Terminal.printable("\(name): \(SignInCommand.text(name, provider: provider))")
        // Escape the body, because the service may interpret markup in it.
        let body = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
        let call = ProgramRun(
            [
                program, "--address=\(address)", "--quiet", "--timeout=2", "call", "org.freedesktop.Notifications",
                "/org/freedesktop/Notifications", "org.freedesktop.Notifications", "Notify", "susssasa{sv}i",
                "tokenkeep", "0", "dialog-password", "Sign in again", body, "0", "0", "0",
            ])
        _ = try? call.run(input: nil, until: Deadline(milliseconds: milliseconds), showsErrors: false)
    }
}
