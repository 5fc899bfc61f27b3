import TestSupport
import TokenKeepCore
import TokenKeepEngine

/// One step of a history: a call of a store, or an event around the stores.
struct HistoryStep: CustomStringConvertible {
    /// The kind of a step.
    enum Action {
        case save, saveIfAbsent
        /// A save with a level and flags of its own.
        case saveAt(AccessLevel, ItemFlags)
        /// A call with a precondition on the last known version or, if stale, on the first known version.
        case saveIfVersion(isStale: Bool), clearIfVersion(isStale: Bool)
        case load, clear, clearService, list
        case export(isPartial: Bool)
        case reopen(isConnected: Bool)
        case service(ScriptedService.Condition)
        case fault(ScriptedService.Fault, calls: Int)
        case otherProgramSaves, otherProgramClears
        /// Another program saves a value that the item had before.
        case otherProgramSavesAgain
        case secondsPass
        case clockIsSet(by: Int64)
        case setPassword, removePassword
        case changePassword(isCompromised: Bool)
        case unlock
        case lock(Locking)

        /// Whether the step can replace every key of the vault.
        var replacesKeys: Bool {
            switch self {
            case .setPassword, .removePassword, .changePassword(isCompromised: true): true
            default: false
            }
        }
    }

    /// Steps that other stores take in the middle of this step, after so many calls or at a progress report.
    struct Interlude {
        let step: [HistoryStep]
        let calls: Int
    }

    let action: Action
    let store: Int
    let account: Int
    var interlude: Interlude?

    var description: String {
        let during = interlude.map { ", after \($0.calls) calls meanwhile: \($0.step)" } ?? ""
        return "\(action) store \(store) account \(account)\(during)"
    }
}

extension HistoryStep {
    static let stores = 3
    static let accounts = 2
    static let namespaces = ["", "team"]

    /// Makes the history of a seed: 4 to 19 random steps.
    static func history(seed: UInt64) -> [HistoryStep] {
        var numbers = SeededNumbers(seed: seed)
        let count = numbers.number(4..<20)
        // In half of the histories, the vault has a password from the start.
        let first = numbers.number(0..<2) == 0 ? [HistoryStep(action: .setPassword, store: 0, account: 0)] : []
        return first + (0..<count).map { _ in random(&numbers) }
    }

    private static func random(_ numbers: inout SeededNumbers) -> HistoryStep {
        var step = HistoryStep(
            action: action(&numbers), store: numbers.number(0..<stores), account: numbers.number(0..<accounts))
        switch step.action {
        case .load, .list:
            guard numbers.number(0..<4) == 0 else { break }
            let other = HistoryStep(
                action: [.save, .clear, .load, .load][numbers.number(0..<4)], store: numbers.number(0..<stores),
                account: numbers.number(0..<accounts))
            step.interlude = Interlude(step: [other], calls: numbers.number(0..<2))
        case let action where action.replacesKeys:
            let others = (0..<numbers.number(0..<3)).map { _ in
                HistoryStep(
                    action: [.save, .clear, .load, .saveIfAbsent][numbers.number(0..<4)],
                    store: numbers.number(0..<stores), account: numbers.number(0..<accounts))
            }
            // The other steps happen before the items are copied (0 calls), or after all items were copied (1 call).
            step.interlude = Interlude(step: others, calls: numbers.number(0..<2))
        default: break
        }
        return step
    }

    private static func action(_ numbers: inout SeededNumbers) -> Action {
        switch numbers.number(0..<66) {
        case 0..<8: .save
        case 8..<10: .saveIfAbsent
        case 10..<13: .saveIfVersion(isStale: numbers.number(0..<3) == 0)
        case 13..<15: .clearIfVersion(isStale: numbers.number(0..<3) == 0)
        case 15..<20: .load
        case 20..<23: .clear
        case 23: .clearService
        case 24..<26: .list
        case 26..<28: .reopen(isConnected: numbers.number(0..<2) == 0)
        case 28..<33: .service(ScriptedService.Condition.allCases[numbers.number(0..<4)])
        case 33..<35: .fault(ScriptedService.Fault.allCases[numbers.number(0..<5)], calls: numbers.number(0..<4))
        case 35..<37: .otherProgramSaves
        case 37: .otherProgramClears
        case 38..<40: .secondsPass
        case 40..<44: .saveAt(.whenUnlocked, [])
        case 44..<46: .saveAt(.afterFirstUnlock, [])
        case 46..<49: .saveAt(.afterFirstUnlock, .requireEnforced)
        case 49..<51: .setPassword
        case 51..<53: .changePassword(isCompromised: numbers.number(0..<3) > 0)
        case 53: .removePassword
        case 54..<57: .unlock
        case 60: .clockIsSet(by: [-3600, 3600][numbers.number(0..<2)])
        case 62..<64: .otherProgramSavesAgain
        case 64..<66: .export(isPartial: numbers.number(0..<2) == 0)
        case 61: .clockIsSet(by: [-315_360_000, 315_360_000][numbers.number(0..<2)])
        default: .lock(numbers.number(0..<3) == 0 ? .screen : .all)
        }
    }
}
