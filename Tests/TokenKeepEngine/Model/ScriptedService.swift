import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// A Secret Service in memory that does what a script says: it is away, locked, hangs, or is lost in the middle of a
/// call. All connections to it see the same items. Used by one thread at a time.
final class ScriptedService: @unchecked Sendable {
    /// How the service is.
    enum Condition: CaseIterable {
        case up, locked, hung, down
    }

    /// What befalls the service at the next write, or at a read before it.
    enum Fault: CaseIterable {
        /// The write arrives; then the service is gone.
        case vanishesAfter
        /// The service hangs; what was sent waits in its queue.
        case hangsBefore
        /// The write arrives; then the service hangs.
        case hangsAfter
        /// The service hangs, and the caller cancels; what was sent waits in its queue.
        case cutBefore
        /// The write arrives, and the caller cancels before it hears of it.
        case cutAfter

        /// Those that the caller does nothing for.
        static let losses: [Fault] = [.vanishesAfter, .hangsBefore, .hangsAfter]
    }

    /// The name of the module that reaches it.
    let name: String
    /// Whether it says since when it has an item.
    var reportsModificationTime = true
    /// Cancels the calls of the store whose turn it is.
    var cancel: () -> Void = {}
    /// Whether a call was cancelled since this was last forgotten.
    var wasCut = false

    private(set) var condition = Condition.up
    /// What the service has.
    var items: [ItemName: TokenItem] { kept.items }
    private let kept: any ScriptedItems
    /// What happens after so many calls more.
    var fault: (fault: Fault, calls: Int)?
    /// What another program or store does while a call is on its way, after so many calls more.
    var interlude: (body: () -> Void, calls: Int)?
    /// What another program or store does as soon as the next call was answered.
    var afterward: (() -> Void)?
    /// Whether a save over an item takes several steps.
    var takesSteps = false
    /// The time, in whole seconds.
    var now = UnixTime(3_000_000_000)
    /// The wall clock less the time since the machine's start, in seconds.
    private(set) var clockOffset: Int64 = 1_000

    /// Sets the clock forward or back.
    func setClock(by seconds: Int64) {
        now = UnixTime(now.rawValue + seconds)
        clockOffset += seconds
    }

    /// The clocks now.
    var clocks: ClockMark { ClockMark(boot: Array(repeating: 1, count: 16), offset: clockOffset * 1000) }
    /// Sent to a service that hangs, in this order.
    private var waiting: [() -> Void] = []

    init(name: String = "secret-service") {
        self.name = name
        kept = RealItems.fromEnvironment ?? ItemsInMemory()
    }

    /// Whether every call is answered now.
    var isCalm: Bool { condition == .up && fault == nil }

    /// Changes how the service is. One that hung does what waits, later than it was sent; one that ends does not.
    func become(_ new: Condition) {
        if condition == .hung, new != .hung {
            let waiting = self.waiting
            self.waiting = []
            if new != .down { for write in waiting { write() } }
        }
        condition = new
    }

    /// Saves an item now.
    func put(_ details: ItemDetails, _ secret: SecretBytes) {
        var details = details
        details.modifiedAt = reportsModificationTime ? now : nil
        kept.put(TokenItem(details: details, secret: secret), now)
    }

    /// Removes an item now.
    func remove(_ name: ItemName) -> Bool { kept.remove(name) }

    /// Answers a call, which may change something.
    func answer<Answer>(
        isWrite: Bool = false, _ body: @escaping () -> Answer
    ) throws(TokenKeepError) -> Answer {
        play()
        let fault = strike(isWrite: isWrite)
        if fault == .hangsBefore || fault == .cutBefore { condition = .hung }
        switch condition {
        case .down: throw TokenKeepError(.unavailable, "nobody is there", isAbsence: true)
        case .locked: throw TokenKeepError(.locked, "the collection is locked")
        case .hung:
            if isWrite { waiting.append { _ = body() } }
            if fault == .cutBefore { throw cut(isSent: isWrite) }
            throw TokenKeepError(.timedOut, "no answer")
        case .up: break
        }
        let answer = body()
        let next = afterward
        afterward = nil
        next?()
        switch fault {
        case .vanishesAfter:
            condition = .down
            throw TokenKeepError(.unavailable, "the service went away")
        case .hangsAfter:
            condition = .hung
            throw TokenKeepError(.timedOut, "no answer")
        case .cutAfter: throw cut(isSent: true)
        case .hangsBefore, .cutBefore, nil: return answer
        }
    }

    private func cut(isSent: Bool) -> TokenKeepError {
        cancel()
        wasCut = true
        var error = TokenKeepError(.cancelled, "the call was cancelled")
        error.changedNothing = !isSent
        return error
    }

    private func play() {
        guard let next = interlude else { return }
        guard next.calls == 0 else {
            interlude?.calls -= 1
            return
        }
        interlude = nil
        next.body()
    }

    /// The fault whose turn it is; what concerns a write waits for one.
    private func strike(isWrite: Bool) -> Fault? {
        guard let next = fault else { return nil }
        guard next.calls == 0 else {
            fault?.calls -= 1
            return nil
        }
        guard isWrite || next.fault == .hangsBefore || next.fault == .cutBefore else { return nil }
        fault = nil
        return next.fault
    }
}

extension ScriptedService {
    /// The default stack.
    static let stack = "any sufficient secret-service\nany required vault"

    /// A store that has this service, or no bus.
    func store(
        vaultPath: String, isConnected: Bool, stack: String = ScriptedService.stack, prompt: PromptHandler? = nil,
        beside other: ScriptedService? = nil, keys: ClassKeyStore? = nil, namespace: String = "", seals: Bool = false
    ) throws -> Store {
        var configuration = StoreConfiguration(stackText: stack)
        configuration.namespace = namespace
        configuration.isInteractive = prompt != nil
        configuration.prompt = prompt
        configuration.vaultPath = vaultPath
        for service in [self, other].compactMap({ $0 }) {
            configuration.standIns[service.name] = {
                let connection = ScriptedConnection(service, isConnected: isConnected, versionKey: $0)
                return seals ? SealingModule(base: connection, versionKey: $0) : connection
            }
        }
        configuration.clock = { self.now }
        configuration.clocks = { self.clocks }
        if let keys {
            configuration.residentKeys = keys
            configuration.passwordCosts = .least
        }
        return try Store(configuration)
    }
}

extension PasswordCosts {
    /// The least that the format allows.
    static let least = PasswordCosts(passes: 1, memoryKiB: 8)
}
