public import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// The number of tokens of each session in the outbox.
public struct WaitingTokens: Sendable {
    private let counts: [String: Int]
    private let outbox: Outbox

    /// Counts the tokens in the outbox by their attributes, without reading them.
    ///
    /// - Throws: the errors of listing the outbox.
    public init(_ outbox: Outbox) throws(TokenKeepError) {
        self.outbox = outbox
        guard outbox.mark.isSet else {
            counts = [:]
            return
        }
        let listing = try outbox.store.list(service: Outbox.service)
        if let problem = listing.problem { throw problem }
        counts = listing.items.reduce(into: [:]) { counts, item in
            if let id = item.attributes[Outbox.sessionAttribute] { counts[id, default: 0] += 1 }
        }
    }

    /// The number of one session's tokens in the outbox when this value was created.
    public func count(service: String, account: String) throws(TokenKeepError) -> Int {
        guard !counts.isEmpty else { return 0 }
        let store = outbox.store
        let name = try ItemName(namespace: store.namespace, service: service, account: account)
        let id = try SessionFiles(store.records).id(of: name, store.sessionCall(outbox.options.timeoutMilliseconds))
        return counts[Hexadecimal.text(id)] ?? 0
    }
}

extension Outbox {
    /// Revokes the tokens of sessions that ``SessionEngine/endHere(isLocalOnly:)`` has ended, and sets a report's
    /// revocation to done if the outbox has no token of that session any more. Lists the outbox once for all sessions.
    package func revoke(_ ended: inout [(session: SessionEngine, report: EndReport)], until end: Deadline) {
        let queued = ended.indices.filter { ended[$0].report.revocation == .queued }
        guard options.transport != nil, !queued.isEmpty else { return }
        let services = Set(queued.map { ended[$0].session.name.service })
        _ = try? withoutPrompts.flush(until: end) { $0["service"]?.text.map(services.contains) == true }
        guard let waiting = try? WaitingTokens(self) else { return }
        for index in queued {
            let name = ended[index].session.name
            let count = try? waiting.count(service: name.service, account: name.account)
            if count == 0 { ended[index].report.revocation = .done }
        }
    }
}
