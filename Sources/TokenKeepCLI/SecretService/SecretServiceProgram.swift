import CSystemShims
import Glibc
import TokenKeepCore
import TokenKeepSecretService
import TokenKeepTerminal

/// The installed program `tokenkeep-secret-service`.
enum SecretServiceProgram {
    /// The program's path; nil if it is not installed beside this program.
    private static var path: String? {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard tokenkeep_secret_service_program(&path) != 0 else { return nil }
        return String(decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Replaces this process by the program. Returns only if this fails, and returns the error.
    static func become(_ arguments: [String]) -> TokenKeepError {
        guard let program = path else {
            return TokenKeepError(
                .unsupported, "tokenkeep-secret-service is not installed beside this program",
                hint: "install the package tokenkeep-secret-service, or build with libsystemd and libgcrypt")
        }
        if let bus = busVariable { setenv(bus.name, bus.address, 1) }
        let error = ProgramExecution.replaceProcess(program, [program] + arguments)
        return TokenKeepError(.unavailable, "\(program) cannot be run: \(Terminal.describe(errno: error))")
    }

    /// Asks the running provider, tokenkeep-secret-service, to unlock the vault for itself. Returns false if no
    /// provider runs, or if the provider refuses.
    static func unlock(_ password: SecretBytes) -> Bool { tell("unlock-running", password) }

    /// Asks the running provider to remove the vault's keys from its memory. Does nothing if no provider runs.
    static func lock() { _ = tell("lock-running", nil) }

    /// The time, in milliseconds, for the program's request to the provider, which ends after a minute.
    private static let limit: UInt32 = 70_000

    private static func tell(_ command: String, _ input: SecretBytes?) -> Bool {
        guard let bus = busVariable, let program = path else { return false }
        let outcome = try? ProgramRun([program, command], variables: ["\(bus.name)=\(bus.address)"]).run(
            input: input, until: Deadline(milliseconds: limit), showsErrors: false)
        return outcome?.exitCode == 0
    }

    /// The variable that names the user's bus for the program. Under cron and `su` no variable names it: it is then the
    /// bus in the user's runtime directory, which the module `secret-service` finds too. nil if there is no bus.
    private static var busVariable: (name: String, address: String)? {
        (try? BusAddress.find()).map { ("DBUS_SESSION_BUS_ADDRESS", $0) }
    }
}
