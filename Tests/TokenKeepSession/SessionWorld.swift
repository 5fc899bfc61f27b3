import TestSupport
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepSession

/// A vault of its own, a server, and clocks that the test moves.
final class SessionWorld: Sendable {
    let directory = TemporaryDirectory(inMemory: true)
    let server = TokenServer()
    /// Stands for the keyring in stacks that name `secret-service`.
    let shelf = LockableShelf()
    let keys: ClassKeyStore
    private let clock: MutexGuarded<SessionTime>
    private let lines = MutexGuarded<[String]>([])
    let pauses = MutexGuarded<[UInt32]>([])

    /// The stack of stores for which a test names none.
    private let stack: String

    init(stack: String = "any required vault") {
        self.stack = stack
        let time = MutexGuarded(SessionTime(wall: 1_800_000_000, boottime: 1000, boot: "one"))
        keys = ClassKeyStore(simulatingKernelAt: { time.withLock { $0.boottime } })
        clock = time
    }

    var vault: String { directory.path + "/vault" }
    var time: SessionTime { clock.withLock { $0 } }
    var explained: [String] { lines.withLock { $0 } }

    func move(seconds: Int64) {
        clock.withLock {
            $0.wall += seconds
            $0.boottime += seconds
        }
    }

    func setWallClock(by seconds: Int64) { clock.withLock { $0.wall += seconds } }

    func restart() {
        clock.withLock {
            $0.boot += "+"
            $0.boottime = 5
        }
    }

    /// - Parameter prompt: answers the vault's prompts; nil for a store that never prompts.
    func store(_ stack: String? = nil, namespace: String = "", prompt: PromptHandler? = nil) throws -> Store {
        var configuration = StoreConfiguration(stackText: stack ?? self.stack)
        configuration.namespace = namespace
        configuration.vaultPath = vault
        configuration.isInteractive = prompt != nil
        configuration.prompt = prompt
        configuration.standIns["secret-service"] = { [shelf] in ShelfModule(shelf: shelf, versionKey: $0) }
        configuration.residentKeys = keys
        configuration.passwordCosts = PasswordCosts(passes: 1, memoryKiB: 8)
        return try Store(configuration)
    }

    /// A handle as another process would have one: with a store of its own.
    func session(
        _ account: String? = "ann", rotation: RotationProfile = .strict, sends: Bool = true,
        timeout: UInt32 = 10_000, answerLimit: UInt32 = 30_000, validates: Bool = false,
        refreshLevel: AccessLevel? = nil,
        _ transport: SessionTransport? = nil, whenExplained: @escaping @Sendable (String) -> Void = { _ in },
        prompt: PromptHandler? = nil
    ) throws -> SessionEngine {
        var options = SessionOptions(
            transport: transport ?? (sends ? server.transport : nil), rotation: rotation, timeoutMilliseconds: timeout)
        options.answerLimit = answerLimit
        options.validates = validates
        options.refreshLevel = refreshLevel
        options.clock = { [clock] in clock.withLock { $0 } }
        options.pause = { [pauses] milliseconds, _ in
            pauses.withLock { $0.append(milliseconds) }
            self.move(seconds: Int64(milliseconds + 999) / 1000)
        }
        options.explain = { [lines] line in
            lines.withLock { $0.append(line) }
            whenExplained(line)
        }
        return try SessionEngine(try store(prompt: prompt), service: "api.example.com", account: account, options)
    }

    /// A handle of a session that has begun.
    func signedIn(
        _ account: String = "ann", rotation: RotationProfile = .strict, lifetime: Int = 3600,
        refreshLevel: AccessLevel? = nil
    ) throws -> SessionEngine {
        server.set(lifetime: lifetime)
        let session = try session(account, rotation: rotation, refreshLevel: refreshLevel)
        try session.begin(.user, response: SecretBytes(server.signIn))
        return session
    }
}

extension SessionToken {
    var text: String { value.utf8String ?? "" }
}
