import Foundation
import TokenKeep

// Uses each part of the API with `import TokenKeep` alone, in the vault that TOKENKEEP_VAULT names.
let store = try TokenStore(.init(stackText: "any required vault", namespace: "consumer", timeout: .seconds(60)))
let service = "example.com"

let secret = try TokenStore.Secret(bytes: [0x73, 0x33, 0x63])
let version = try await store.save(
    secret, service: service, account: "ann",
    options: .init(
        accessibility: .afterFirstUnlock, label: "Ann", attributes: ["client": "test"],
        expiresAt: Date(timeIntervalSince1970: 4_000_000_000), precondition: .absent))
let item = try await store.load(service: service, account: "ann")
print("loaded", item.secret == secret, item.details.version == version, item.details.attributes["client"] ?? "-")
print(item.details.label, item.details.module, item.details.accessibility == .afterFirstUnlock, item.secret)
print(item.details.expiresAt?.timeIntervalSince1970 ?? 0, item.details.name.namespace)

do {
    try await store.save("late", service: service, account: "ann", options: .init(precondition: .absent))
} catch TokenKeepError.Status.duplicate {
    print("duplicate")
}

// Tasks and actors share the store.
let accounts = try await withThrowingTaskGroup(of: Void.self) { group in
    for account in ["bob", "eve"] {
        group.addTask { try await store.save(account, service: service, account: account) }
    }
    try await group.waitForAll()
    return try await store.list(service: service).items.map(\.name.account).sorted()
}
print(accounts)

/// The first change that names an item.
func nextChangedAccount() async throws -> String {
    for try await change in store.changes(of: service) {
        switch change {
        case .listAgain: try await store.clear(service: service, account: "bob")
        case .saved(let name), .cleared(let name): return name.account
        }
    }
    return "-"
}
print("changed:", try await nextChangedAccount())

let cancelled = Task { try await store.load(service: service, account: "ann") }
cancelled.cancel()
do {
    _ = try await cancelled.value
    print("cancelled")  // the load was faster
} catch is CancellationError {
    print("cancelled")
}

print("protection", try await store.protection(for: .afterFirstUnlock)[.otherUser].strength == .enforced)
print("left", try await store.sync().left)
print("cleared", try await store.clear(service: service))
do {
    _ = try await store.load(service: service, account: "ann")
} catch let error as TokenKeepError where error.status == .notFound {
    print(error.localizedDescription)
}
