import Foundation

/// A real gnome-keyring on a bus of its own.
public final class PrivateKeyring: @unchecked Sendable {
    /// Its bus.
    public let bus: PrivateBus
    private var daemon: ChildProcess
    private let password: String?

    /// Starts a keyring with an open default collection.
    ///
    /// - Parameters:
    ///   - password: of the collection; nil for a collection without one, which is kept as lines of text.
    ///   - content: the items of a collection without a password, in the lines of its file.
    public init(password: String? = "keyring password", content: String = "") throws {
        bus = try PrivateBus()
        self.password = password
        if password == nil {
            let keyring =
                "[keyring]\ndisplay-name=plain\nctime=0\nmtime=0\nlock-on-idle=false\nlock-after=false\n\n\(content)"
            bus.directory.write(Array(keyring.utf8), to: "data/keyrings/plain.keyring")
            bus.directory.write(Array("plain".utf8), to: "data/keyrings/default")
        }
        daemon = try PrivateKeyring.start(on: bus, password: password)
        try bus.waitForService()
    }

    private static func start(on bus: PrivateBus, password: String?) throws -> ChildProcess {
        try ChildProcess(
            "/usr/bin/gnome-keyring-daemon",
            (password == nil ? [] : ["--unlock"]) + ["--components=secrets", "--foreground"],
            environment: bus.environment, input: password ?? "")
    }

    /// Ends the daemon; its collection stays on disk.
    public func stop() { daemon.kill() }

    /// Ends the daemon, if it runs, and starts another.
    ///
    /// - Parameter unlocked: whether the collection is opened with its password.
    public func restart(unlocked: Bool = true) throws {
        daemon.kill()
        daemon = try PrivateKeyring.start(on: bus, password: unlocked ? password : nil)
        try bus.waitForService()
    }

    /// Stops the daemon in its tracks, or lets it go on.
    public func freeze(_ isFrozen: Bool) {
        if isFrozen { daemon.stop() } else { daemon.signal(SIGCONT) }
    }
}
