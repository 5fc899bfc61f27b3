import TokenKeepCore
import TokenKeepSession

/// A session of this device, as the rules see it.
package struct LocalSession: Sendable, Equatable {
    package let service: String
    package let account: String
    package let provider: String
    /// The identity of the session in the registry.
    package let id: String
    /// When it began, by the registry's clock, in milliseconds since 1970; nil if unknown.
    package let signedIn: Int64?

    package init(service: String, account: String, provider: String, id: String, signedIn: Int64?) {
        (self.service, self.account, self.provider, self.id, self.signedIn) = (service, account, provider, id, signedIn)
    }
}

/// Which sessions an order ends. Pure: no clock, no registry, no vault.
package enum OrderRules {
    package enum Decision: Sendable, Equatable {
        /// End this session, and then answer.
        case end(LocalSession)
        /// There is nothing to end.
        case answer(ResultValue.Outcome)
        /// The order is not what its path says: nobody who may give orders wrote it.
        case ignore
    }

    /// - Parameters:
    ///   - order: the opened value; nil if it does not open.
    ///   - id: the end of the order's path.
    ///   - expectedID: the id that the order's session has on this device.
    ///   - isObeyed: whether this device has ended the session by this order, and could not say so.
    ///   - now: the registry's time.
    package static func decide(
        _ order: OrderValue?, id: String, expectedID: (OrderValue) -> String, isObeyed: Bool, local: [LocalSession],
        now: Int64
    ) -> Decision {
        guard let order, expectedID(order) == id else { return .ignore }
        // The account's present session has another identity if its user has signed in again.
        guard let session = local.first(where: { $0.id == order.session }) else {
            return .answer(isObeyed ? .done : .gone)
        }
        return now - order.at <= OrderValue.lifetime ? .end(session) : .answer(.expired)
    }

    /// Whether an `everywhere` is to be obeyed: about an event that is later than what was obeyed under its key, not before
    /// this device joined, and not older than an order may be.
    package static func isDue(_ everywhere: EverywhereValue, obeyed: Int64?, joined: Int64, now: Int64) -> Bool {
        everywhere.event > obeyed ?? .min && everywhere.eventAt >= joined
            && now - everywhere.eventAt <= OrderValue.lifetime
    }

    /// The sessions that an `everywhere` ends: those that began before what it is about.
    package static func ended(by everywhere: EverywhereValue, among local: [LocalSession]) -> [LocalSession] {
        local.filter { session in
            func isMeant(_ wanted: String, _ present: String) -> Bool { wanted.isEmpty || wanted == present }
            guard isMeant(everywhere.service, session.service), isMeant(everywhere.account, session.account),
                isMeant(everywhere.provider, session.provider)
            else { return false }
            return session.signedIn.map { $0 < everywhere.event } ?? true
        }
    }

    /// The event of an order for everywhere that is given now: later than that of the order before it, whatever the clocks of
    /// the devices say. Who signs in and orders again is obeyed again.
    package static func event(now: Int64, after before: EverywhereValue?) -> Int64 {
        max(now, before.map { min($0.event, EverywhereValue.latest - 1) + 1 } ?? now)
    }
}

/// The time between two attempts to reach the registry.
package struct Backoff {
    /// In milliseconds.
    private static let shortest: UInt32 = 1000
    private static let longest: UInt32 = 300_000
    private var next = Backoff.shortest

    package init() {}

    package mutating func reset() { next = Backoff.shortest }

    /// The next pause in milliseconds: between a half and the whole of a time that doubles, so that the devices of a fleet
    /// do not return at once.
    ///
    /// - Parameter random: 0 to 999.
    package mutating func pause(random: UInt32) -> UInt32 {
        defer { next = min(next * 2, Backoff.longest) }
        return next / 2 + UInt32(UInt64(next / 2) * UInt64(min(random, 999)) / 999)
    }
}

/// The clock of the registry, from this machine's.
package enum RegistryClock {
    /// Smaller differences are the rounding of two clocks to seconds.
    package static let unnoticed: Int64 = 2

    /// A time of this machine as the registry's clock has it.
    package static func time(_ local: Int64, offset: Int64?) -> Int64 {
        guard let offset, abs(offset) > unnoticed else { return local }
        let (time, overflow) = local.addingReportingOverflow(offset)
        return overflow ? local : time
    }

    package static func now(_ registry: any Registry) -> Int64 {
        time(UnixTime.now.rawValue, offset: registry.clockOffset)
    }

    /// The same in milliseconds since 1970. The server tells whole seconds: only clocks that agree with it have better ones.
    package static func exactTime(_ local: Int64, offset: Int64?) -> Int64 {
        let seconds = time(local / 1000, offset: offset)
        let (whole, isBeyond) = seconds.multipliedReportingOverflow(by: 1000)
        let (time, isOver) = whole.addingReportingOverflow(max(0, local % 1000))
        return isBeyond || isOver ? local : time
    }

    package static func exactNow(_ registry: any Registry) -> Int64 {
        let now = UnixTime.now.rawValue
        return exactTime(now * 1000 + Int64(SessionTime.milliseconds(since: now)), offset: registry.clockOffset)
    }
}
