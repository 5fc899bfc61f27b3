import TokenKeep

// Saves, loads and clears a token; then shows that a change made meanwhile is not overwritten.
let store = try TokenStore()
try await store.save("s3cr3t", service: "example.com", account: "ann")

let item = try await store.load(service: "example.com", account: "ann")
print("loaded \(item.secret.count) bytes from \(item.details.module)")

try await store.save("newer", service: "example.com", account: "ann")
do {
    try await store.save(
        "late", service: "example.com", account: "ann", options: .init(precondition: .version(item.details.version)))
} catch TokenKeepError.Status.conflict {
    print("not saved: another program was faster")
}

try await store.clear(service: "example.com", account: "ann")
do {
    _ = try await store.load(service: "example.com", account: "ann")
} catch TokenKeepError.Status.notFound {
    print("cleared")
}
