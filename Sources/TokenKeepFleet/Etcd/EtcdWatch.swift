import CFleetLink
import TokenKeepCore
import TokenKeepSession

/// A watch of prefixes by a stream of etcd's gateway.
///
/// A stopped server does not close its connections. So over TLS (HTTP/2) the request stays open, and a progress request
/// is sent on it each minute. Otherwise the server reports its progress every ten minutes by itself. The watch ends if
/// the server sends nothing for too long.
final class EtcdWatch: RegistryWatch {
    private enum Pace {
        /// The interval of progress requests on an open stream, and the timeout of an answer, in seconds.
        static let question: Int64 = 60
        static let answer: Int64 = 10
        /// The longest silence of a server, in seconds: 2.2 times the ten minutes between its progress reports.
        static let silence: Int64 = 1320
        /// The longest time, in seconds, until the server confirms the watch.
        static let beginning: Int64 = 8
    }
    private static let longestLine = 2 << 20

    private let stream: OpaquePointer
    private let registry: EtcdRegistry
    private let revision: Int64
    private let isOpen: Bool
    private let expected: Int
    private var created = 0
    private var heardAt = SessionTime.now.boottime
    private var askedAt: Int64?

    /// Starts a watch at the registry's present endpoint.
    ///
    /// - Throws: ``Status/io`` if memory or descriptors are short.
    init(_ registry: EtcdRegistry, prefixes: [String], from revision: Int64) throws(TokenKeepError) {
        let endpoint = registry.current
        let isOpen = !endpoint.isPlain && registry.keepsWatchesOpen
        let body = try SecretBytes(prefixes.map { EtcdWire.watch($0, from: revision) + "\n" }.joined())
        let stream = registry.link.settings.lent(endpoint, "/v3/watch", registry.token) { call in
            call.connect_ms = 5000
            call.body = body.unsafeAddress
            call.body_length = body.count
            call.answer_capacity = EtcdWatch.longestLine
            return tokenkeep_stream_begin(&call, isOpen ? 1 : 0)
        }
        withExtendedLifetime((body, registry.token)) {}
        guard let stream else { throw TokenKeepError.shortage("no memory or no descriptor for a watch") }
        self.stream = stream
        self.registry = registry
        self.revision = revision
        self.isOpen = isOpen
        expected = prefixes.count
    }

    deinit { tokenkeep_stream_free(stream) }

    func probe() {
        guard isOpen, askedAt == nil, created == expected else { return }
        ask(SessionTime.now.boottime)
    }

    func next(within milliseconds: UInt32, or one: Int32, _ other: Int32) -> RegistryEvent {
        let event = wait(milliseconds, one, other)
        // The watch may have ended because its server is unavailable, so the next listing is read from another server.
        if case .ended = event { registry.leaveEndpoint() }
        return event
    }

    private func wait(_ milliseconds: UInt32, _ one: Int32, _ other: Int32) -> RegistryEvent {
        let now = SessionTime.now.boottime
        if let silence = silence(at: now) { return .ended(silence) }
        if isOpen, askedAt == nil, created == expected, now - heardAt >= Pace.question { ask(now) }
        let limit = min(milliseconds, UInt32(clamping: max(1, due(after: now)) * 1000))
        var line: UnsafePointer<CChar>?
        var length = 0
        switch Int(tokenkeep_stream_next(stream, limit, one, other, &line, &length)) {
        case TOKENKEEP_STREAM_LINE:
            heardAt = SessionTime.now.boottime
            askedAt = nil
            return event(of: UnsafeRawBufferPointer(start: line, count: length))
        case TOKENKEEP_STREAM_NOTHING: return .nothing
        default: return .ended(String(cString: tokenkeep_stream_problem(stream)))
        }
    }

    private func ask(_ now: Int64) {
        askedAt = now
        _ = EtcdWire.progress.withCString { tokenkeep_stream_send(stream, $0, EtcdWire.progress.utf8.count) }
    }

    private func silence(at now: Int64) -> String? {
        if created < expected, now - heardAt >= Pace.beginning {
            // The reason may be a proxy that speaks HTTP/1.1 and forwards nothing before the request has ended. So the
            // requests of later watches are ended at once.
            registry.keepsWatchesOpen = false
            return "the server does not take the watch"
        }
        if let askedAt, now - askedAt >= Pace.answer { return "the server is silent" }
        return !isOpen && now - heardAt >= Pace.silence ? "the server is silent" : nil
    }

    /// The time, in seconds, until the next progress request or the timeout is due.
    private func due(after now: Int64) -> Int64 {
        if created < expected { return heardAt + Pace.beginning - now }
        if let askedAt { return askedAt + Pace.answer - now }
        return heardAt + (isOpen ? Pace.question : Pace.silence) - now
    }

    private func event(of line: UnsafeRawBufferPointer) -> RegistryEvent {
        switch EtcdWatchLine(line, after: revision) {
        case .ended(let reason): return .ended(reason)
        case .nothing(let isCreated):
            if isCreated { created += 1 }
            return .nothing
        case .changed(let isCreated):
            if isCreated { created += 1 }
            return .changed
        }
    }
}
