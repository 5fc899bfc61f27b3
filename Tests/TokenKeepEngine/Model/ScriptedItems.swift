import Foundation
import TestSupport
import TokenKeepCore
import TokenKeepPlugin

/// Stores the items of a scripted service.
protocol ScriptedItems: AnyObject {
    var items: [ItemName: TokenItem] { get }
    func put(_ item: TokenItem, _ now: UnixTime)
    func remove(_ name: ItemName) -> Bool
}

/// Stores the items in a dictionary.
final class ItemsInMemory: ScriptedItems {
    private(set) var items: [ItemName: TokenItem] = [:]
    func put(_ item: TokenItem, _ now: UnixTime) { items[item.details.name] = item }
    func remove(_ name: ItemName) -> Bool { items.removeValue(forKey: name) != nil }
}

/// Stores the items in the real example module `keyctl`. The script still decides whether the service answers.
///
/// Every history uses this class if the environment has `TOKENKEEP_MODEL_MODULE=keyctl`.
final class RealItems: ScriptedItems {
    private static let built = Result { try BuiltModule.keyctl() }
    private let module: PluginModule
    private let now: MutexGuarded<UnixTime>
    private var call: CallContext { .patient }

    static var fromEnvironment: RealItems? {
        guard ProcessInfo.processInfo.environment["TOKENKEEP_MODEL_MODULE"] == "keyctl" else { return nil }
        do { return try RealItems() } catch { fatalError("keyctl: \(error)") }
    }

    private init() throws {
        let now = MutexGuarded(UnixTime(0))
        var setting = PluginModule.Setting(
            file: ModuleFile(path: try RealItems.built.get().path), name: "secret-service")
        setting.arguments = ["ring=\(UUID())"]
        setting.clock = { now.withLock { $0 } }
        let key = try ItemVersionKey.random()
        module = PluginModule(setting) { () throws(TokenKeepError) in key }
        self.now = now
    }

    deinit { for name in items.keys { _ = remove(name) } }

    var items: [ItemName: TokenItem] {
        attempt {
            let names = try HistoryStep.namespaces.flatMap {
                try module.list(namespace: $0, service: nil, call).items.map(\.name)
            }
            return Dictionary(uniqueKeysWithValues: try names.map { ($0, try module.load($0, call)) })
        }
    }

    func put(_ item: TokenItem, _ now: UnixTime) {
        self.now.withLock { $0 = now }
        attempt {
            let details = item.details
            var request = try SaveRequest(
                name: details.name, secret: item.secret, accessLevel: details.accessLevel, flags: details.flags,
                label: details.label, attributes: details.attributes, expiresAt: details.expiresAt)
            request.inherited = details
            _ = try module.save(request, call)
        }
    }

    func remove(_ name: ItemName) -> Bool { attempt { try module.clear(name, ifVersion: nil, call) } }

    /// Runs a call of the module. Any failure ends the test, because only the script may make calls fail.
    private func attempt<Answer>(_ body: () throws -> Answer) -> Answer {
        do { return try body() } catch { fatalError("keyctl: \(error)") }
    }
}
