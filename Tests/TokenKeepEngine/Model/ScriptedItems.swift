import Foundation
import TestSupport
import TokenKeepCore
import TokenKeepPlugin

/// Where the items of a scripted service are.
protocol ScriptedItems: AnyObject {
    var items: [ItemName: TokenItem] { get }
    func put(_ item: TokenItem, _ now: UnixTime)
    func remove(_ name: ItemName) -> Bool
}

/// In a dictionary.
final class ItemsInMemory: ScriptedItems {
    private(set) var items: [ItemName: TokenItem] = [:]
    func put(_ item: TokenItem, _ now: UnixTime) { items[item.details.name] = item }
    func remove(_ name: ItemName) -> Bool { items.removeValue(forKey: name) != nil }
}

/// In a module: the suite's script decides when it can be reached, the module keeps the items.
///
/// With `TOKENKEEP_MODEL_MODULE=keyctl` the example `keyctl` takes the place of the dictionary in every history.
final class RealItems: ScriptedItems {
    private static let built = Result { try BuiltModule.keyctl() }
    private let module: PluginModule
    private let now: MutexGuarded<UnixTime>
    private var call: CallContext { CallContext(deadline: Deadline(milliseconds: 10_000)) }

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

    /// The script alone makes the module fail: anything else ends the test.
    private func attempt<Answer>(_ body: () throws -> Answer) -> Answer {
        do { return try body() } catch { fatalError("keyctl: \(error)") }
    }
}
