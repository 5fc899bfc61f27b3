import CGcrypt
import CSystemShims
import CSystemdBus
import Glibc
import TokenKeepCore
import TokenKeepKeys

/// `run -- COMMAND…`: runs a command on a private message bus, on which the provider is the only service.
enum RunCommand {
    private static let notFound: Int32 = 127
    private static let cannotRun: Int32 = 126

    /// The bus's configuration. It names no service directory, so the bus starts no portal and no other keyring.
    ///
    /// The bus listens on an abstract socket, which leaves no file behind. It accepts only processes of its own user.
    private static func configuration(_ name: String) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
        "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig><type>session</type><listen>unix:abstract=\(name)</listen><auth>EXTERNAL</auth>
        <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
        </policy></busconfig>
        """
    }

    /// Runs the command, and returns its exit code.
    ///
    /// - Parameter options: the options that the provider is started with.
    static func run(_ command: [String], _ options: [String], passwordDescriptor: Int32?) throws(TokenKeepError)
        -> Int32
    {
        guard !command.isEmpty else {
            throw TokenKeepError(.invalid, "no command is given", hint: "tokenkeep secret-service run -- COMMAND")
        }
        guard tokenkeep_gcrypt_start() == 0 else { throw TokenKeepError(.internal, "libgcrypt cannot be used") }
        let signals = tokenkeep_signals_open()
        // Only the provider inherits the descriptor of the password: the bus and the command do not.
        if let passwordDescriptor { tokenkeep_inherit(passwordDescriptor, 0) }
        let bus = try startBus()
        defer { bus.companion.end() }
        let variables = [
            "DBUS_SESSION_BUS_ADDRESS": bus.address, "DBUS_SESSION_BUS_PID": "\(bus.companion.process)",
        ]
        if let passwordDescriptor { tokenkeep_inherit(passwordDescriptor, 1) }
        let provider = try startProvider(options, variables, signals)
        defer { provider.end() }
        if let passwordDescriptor { tokenkeep_inherit(passwordDescriptor, 0) }
        do throws(CompanionFailure) {
            return wait(for: try Companion(command, variables), signals)
        } catch {
            Log.line(error.error.message)
            return error.code == ENOENT ? notFound : cannotRun
        }
    }

    private static func startBus() throws(TokenKeepError) -> (companion: Companion, address: String) {
        let text = configuration("tokenkeep-\(Hexadecimal.text(Provider.randomBytes(16)))")
        let file = text.withCString { tokenkeep_text_file($0, strlen($0)) }
        var ends: [Int32] = [-1, -1]
        guard file >= 0, pipe(&ends) == 0 else { throw .shortage("no descriptor for the message bus") }
        tokenkeep_inherit(ends[0], 0)
        defer { for descriptor in [file, ends[0]] { close(descriptor) } }
        let bus: Companion
        do throws(CompanionFailure) {
            defer { close(ends[1]) }
            bus = try Companion([
                "dbus-daemon", "--nofork", "--nopidfile", "--config-file=/proc/self/fd/\(file)",
                "--print-address=\(ends[1])",
            ])
        } catch {
            guard error.code == ENOENT else { throw error.error }
            throw TokenKeepError(
                .unavailable, "dbus-daemon is missing", hint: "install the package dbus-daemon, in older systems dbus")
        }
        var address = [UInt8](repeating: 0, count: 512)
        let length = read(ends[0], &address, address.count)
        guard length > 1 else {
            _ = bus.wait()
            throw TokenKeepError(.unavailable, "dbus-daemon did not start")
        }
        return (bus, String(decoding: address[..<(length - 1)], as: UTF8.self))
    }

    private static func startProvider(
        _ options: [String], _ variables: [String: String], _ signals: Int32
    ) throws(TokenKeepError) -> Companion {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .shortage("no descriptor for the provider") }
        tokenkeep_inherit(ends[0], 0)
        defer { close(ends[0]) }
        let provider: Companion
        do throws(CompanionFailure) {
            defer { close(ends[1]) }
            provider = try Companion([program, "--ready-fd", "\(ends[1])"] + options, variables)
        } catch {
            throw error.error
        }
        guard waitForInput(of: ends[0], unless: signals) else {
            provider.end()
            throw TokenKeepError(.cancelled, "a signal ended the start of the provider")
        }
        var byte: UInt8 = 0
        guard read(ends[0], &byte, 1) == 1 else {
            // The provider has printed the reason itself.
            throw TokenKeepError(.unavailable, "the provider ended with \(provider.wait())")
        }
        return provider
    }

    /// The path of this program. It is preferred to `/proc/self/exe`, because the kernel names a process after the last
    /// component of the path that was executed.
    private static var program: String {
        guard let path = try? Activation.program(), access(path, X_OK) == 0 else { return "/proc/self/exe" }
        return path
    }

    /// Waits until a descriptor is readable or its writer has closed it; false if a signal comes first.
    ///
    /// There is no time limit, because the provider may be waiting for its password.
    private static func waitForInput(of descriptor: Int32, unless signals: Int32) -> Bool {
        var files = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&files, nfds_t(files.count), -1) < 0 {}
        return files[0].revents != 0
    }

    /// Waits until the command ends, and forwards signals to the command. Returns its exit code.
    private static func wait(for command: Companion, _ signals: Int32) -> Int32 {
        let ended = command.endDescriptor
        while ended >= 0 {
            var files = [
                pollfd(fd: ended, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&files, 2, -1) > 0 else { continue }
            if files[0].revents != 0 { break }
            let number = tokenkeep_next_signal(signals)
            // A terminal sends SIGINT to the command, too, so the signal is not forwarded.
            if number > 0, number != SIGINT { kill(command.process, number) }
        }
        return command.wait()
    }
}
