import TokenKeepCore
import TokenKeepStack

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
    }

    private(set) var condition = Condition.up
    private(set) var items: [ItemName: TokenItem] = [:]
    /// What happens after so many calls more.
    var fault: (fault: Fault, calls: Int)?
    /// What another program or store does while a call is on its way, after so many calls more.
    var interlude: (body: () -> Void, calls: Int)?
    /// What another program or store does as soon as the next call was answered.
    var afterward: (() -> Void)?
    /// The time, in whole seconds.
    var now = UnixTime(1_000_000)
    /// Sent to a service that hangs, in this order.
    private var waiting: [() -> Void] = []

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
        details.modifiedAt = now
        items[details.name] = TokenItem(details: details, secret: secret)
    }

    /// Removes an item now.
    func remove(_ name: ItemName) -> Bool { items.removeValue(forKey: name) != nil }

    /// Answers a call, which may change something.
    func answer<Answer>(
        isWrite: Bool = false, _ body: @escaping () -> Answer
    ) throws(TokenKeepError) -> Answer {
        play()
        let fault = strike(isWrite: isWrite)
        if fault == .hangsBefore { condition = .hung }
        switch condition {
        case .down: throw TokenKeepError(.unavailable, "nobody is there", isAbsence: true)
        case .locked: throw TokenKeepError(.locked, "the collection is locked")
        case .hung:
            if isWrite { waiting.append { _ = body() } }
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
        case .hangsBefore, nil: return answer
        }
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
        guard isWrite || next.fault == .hangsBefore else { return nil }
        fault = nil
        return next.fault
    }
}

extension ScriptedService {
    /// The default stack.
    static let stack = "any sufficient secret-service\nany required vault"

    /// A store that has this service, or no bus.
    func store(
        vaultPath: String, isConnected: Bool, stack: String = ScriptedService.stack, prompt: PromptHandler? = nil
    ) throws -> Store {
        var configuration = StoreConfiguration(stackText: stack)
        configuration.isInteractive = prompt != nil
        configuration.prompt = prompt
        configuration.vaultPath = vaultPath
        configuration.makeSecretService = { ScriptedConnection(self, isConnected: isConnected, versionKey: $0) }
        configuration.clock = { self.now }
        return try Store(configuration)
    }
}
