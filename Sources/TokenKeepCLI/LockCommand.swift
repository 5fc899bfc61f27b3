import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// `tokenkeep lock`.
struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Lock the vault for all your programs.",
        discussion: """
            Without an option, and with --all, every item is locked until the next unlock. With --screen only those of the \
            level when-unlocked. A locker that does not tell login1 that the screen is locked is run by this command: it tells \
            login1, and that the screen is open when the locker ends with 0. The locker must not go to the background.

              tokenkeep lock
              tokenkeep lock --screen -- swaylock
            """.withWholeExamples)

    @Flag(help: "Lock all items: what is done without an option too.")
    var all = false

    @Flag(help: "Lock the items of the level when-unlocked alone.")
    var screen = false

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("A screen locker and its arguments, after --.", valueName: "locker"))
    var locker: [String] = []

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func validate() throws {
        guard !(all && screen) else { throw ValidationError("--all and --screen exclude each other") }
        guard locker.isEmpty || screen else { throw ValidationError("a locker is run with --screen alone") }
    }

    func run() throws {
        guard let program = locker.first else { return try lockVault() }
        // The screen is locked whatever becomes of the keys, and no file is read before: a file system may hang.
        do throws(TokenKeepError) {
            try ClassKeyStore().removal.purgeScreenKeys()
        } catch {
            Terminal.warn(error)
        }
        Terminal.warn(AgentProgram.become(["locker", "--"] + locker))
        let code = ProgramExecution.replaceProcess(program, locker)
        Terminal.report(
            TokenKeepError(
                code == ENOENT ? .notFound : .io, "\(program) cannot be run: \(Terminal.describe(errno: code))"))
        throw ExitCode(code == ENOENT ? ExitCodes.noSuchCommand : ExitCodes.cannotRun)
    }

    private func lockVault() throws {
        let reason = try storeOptions.open().lock(screen ? .screen : .all)
        if !screen { SecretServiceProgram.lock() }
        guard let reason else { return }
        Terminal.explain("locked for this program alone; others may have the vault unlocked: \(reason)")
    }
}
