import StoreTestSupport
import TestSupport
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// A Secret Service that obeys a script: it is unavailable, locked or hung, or fails in the middle of a call.
///
/// All connections to it see the same items. Only one thread at a time may use it.
final class ScriptedService: @unchecked Sendable {
    /// The state of the service, which decides how it answers calls.
    enum Condition: CaseIterable {
        case up, locked, hung, down
    }

    /// A failure at the next write, or at a read before it.
    enum Fault: CaseIterable {
        /// The write is applied, then the service goes away.
        case vanishesAfter
        /// The service hangs before the write, which waits in the service's queue.
        case hangsBefore
        /// The write is applied, then the service hangs before it answers.
        case hangsAfter
        /// The service hangs before the write, which waits in the service's queue, and the caller cancels.
        case cutBefore
        /// The write is applied, and the caller cancels before the answer.
        case cutAfter

        /// The faults in which the caller does not cancel.
        static let losses: [Fault] = [.vanishesAfter, .hangsBefore, .hangsAfter]
    }

    /// The name of the module that connects to the service.
    let name: String
    /// Whether items have a modification time.
    var reportsModificationTime = true
    /// Cancels the calls of the store that takes the present step.
    var cancel: () -> Void = {}
    /// Whether a call was cancelled since the player last reset this.
    var wasCut = false

    private(set) var condition = Condition.up
    /// The items that the service has.
    var items: [ItemName: TokenItem] { kept.items }
    private let kept: any ScriptedItems
    /// The next fault, and the number of calls before it.
    var fault: (fault: Fault, calls: Int)?
    /// Runs at the beginning of a call, after so many further calls: another program's or store's action.
    var interlude: (body: () -> Void, calls: Int)?
    /// Runs once after the next call was answered: another program's or store's action.
    var afterward: (() -> Void)?
    /// The time that each answer takes, in milliseconds. A call that ends earlier times out at once: nobody waits.
    var latency: UInt32 = 0
    /// Whether a save over an item needs several steps.
    var takesSteps = false
    /// The present time, in whole seconds.
    var now = UnixTime(3_000_000_000)
    /// The wall clock minus the time since the machine's start, in seconds.
    private(set) var clockOffset: Int64 = 1_000

    /// Sets the clock forward or back.
    func setClock(by seconds: Int64) {
        now = UnixTime(now.rawValue + seconds)
        clockOffset += seconds
    }

    /// The state of the machine's clocks, as a pending change records it.
    var clocks: ClockMark { ClockMark(boot: Array(repeating: 1, count: 16), offset: clockOffset * 1000) }
    /// The writes in the queue of a hung service, in the order in which they were sent.
    private var waiting: [() -> Void] = []

    init(name: String = "secret-service") {
        self.name = name
        kept = RealItems.fromEnvironment ?? ItemsInMemory()
    }

    /// Whether the service answers every call at present.
    var isCalm: Bool { condition == .up && fault == nil }

    /// Changes the service's state. A hung service that answers again applies its waiting writes; a service that ends
    /// drops them.
    func become(_ new: Condition) {
        if condition == .hung, new != .hung {
            let waiting = self.waiting
            self.waiting = []
            if new != .down { for write in waiting { write() } }
        }
        condition = new
    }

    /// Saves an item at the present time.
    func put(_ details: ItemDetails, _ secret: SecretBytes) {
        var details = details
        details.modifiedAt = reportsModificationTime ? now : nil
        kept.put(TokenItem(details: details, secret: secret), now)
    }

    /// Removes an item. Returns whether the item existed.
    func remove(_ name: ItemName) -> Bool { kept.remove(name) }

    /// Answers a call by the state and the script. `body` reads or changes the items.
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

    /// The fault that now happens. A fault that concerns writes waits for the next write.
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
    /// Gives a store a connection to this service, and this service's clocks.
    ///
    /// - Parameters:
    ///   - isConnected: whether the store has a bus.
    ///   - other: a second service.
    ///   - keys: the keys of the unlocked vault; nil for those in the kernel.
    ///   - seals: whether the vault seals the items of the service.
    func setUp(
        _ configuration: inout StoreConfiguration, isConnected: Bool, beside other: ScriptedService? = nil,
        keys: ClassKeyStore? = nil, seals: Bool = false
    ) {
        for service in [self, other].compactMap({ $0 }) {
            configuration.standIns[service.name] = {
                let connection = ScriptedConnection(service, isConnected: isConnected, versionKey: $0)
                return seals ? SealingModule(base: connection, versionKey: $0) : connection
            }
        }
        configuration.clock = { self.now }
        configuration.clocks = { self.clocks }
        guard let keys else { return }
        configuration.residentKeys = keys
        configuration.passwordCosts = .least
    }
}

extension TestStore {
    /// Names a vault beside a scripted service.
    init(
        _ service: ScriptedService, in directory: TemporaryDirectory, keys: ClassKeyStore? = nil, seals: Bool = false
    ) {
        self.init(in: directory, stack: TestStore.stack) { configuration, isConnected in
            service.setUp(&configuration, isConnected: isConnected, keys: keys, seals: seals)
        }
    }
}

extension PasswordCosts {
    /// The lowest costs that the format allows.
    static let least = PasswordCosts(passes: 1, memoryKiB: 8)
}
