import TokenKeepCore
import TokenKeepSession

/// The properties of a session of this device that the rules use.
package struct LocalSession: Sendable, Equatable {
    package let service: String
    package let account: String
    package let provider: String
    /// The identity of the session in the registry.
    package let id: String
    /// The time at which the session began, in milliseconds since 1970 by the registry's clock; nil if unknown.
    package let signedIn: Int64?

    package init(service: String, account: String, provider: String, id: String, signedIn: Int64?) {
        (self.service, self.account, self.provider, self.id, self.signedIn) = (service, account, provider, id, signedIn)
    }
}

/// Decides which sessions an order ends. Pure functions: they use no clock, no registry and no vault.
package enum OrderRules {
    package enum Decision: Sendable, Equatable {
        /// The session must be ended; then the result is written.
        case end(LocalSession)
        /// There is no session to end, and the result is written at once.
        case answer(ResultValue.Outcome)
        /// The order does not match its path, so it was not written by anyone who may give orders.
        case ignore
    }

    /// Decides whether an order ends a session of this device.
    ///
    /// - Parameters:
    ///   - order: the opened value; nil if the value cannot be opened.
    ///   - id: the last component of the order's path.
    ///   - expectedID: the id that the order's session has on this device.
    ///   - isObeyed: whether this device already ended the session by this order, but could not write the result.
    ///   - now: the present time in Unix seconds, by the registry's clock.
    package static func decide(
        _ order: OrderValue?, id: String, expectedID: (OrderValue) -> String, isObeyed: Bool, local: [LocalSession],
        now: Int64
    ) -> Decision {
        guard let order, expectedID(order) == id else { return .ignore }
        // If the user has signed in again, the account's session has another identity and is not ended.
        guard let session = local.first(where: { $0.id == order.session }) else {
            return .answer(isObeyed ? .done : .gone)
        }
        return now - order.at <= OrderValue.lifetime ? .end(session) : .answer(.expired)
    }

    /// Whether an order for everywhere must be obeyed.
    ///
    /// The order's event must be later than the last obeyed event of the same registry key, not earlier than the time
    /// at which this device joined, and not older than the lifetime of an order.
    package static func isDue(_ everywhere: EverywhereValue, obeyed: Int64?, joined: Int64, now: Int64) -> Bool {
        everywhere.event > obeyed ?? .min && everywhere.eventAt >= joined
            && now - everywhere.eventAt <= OrderValue.lifetime
    }

    /// The sessions that an order for everywhere ends: those that began before its event, or at an unknown time.
    package static func ended(by everywhere: EverywhereValue, among local: [LocalSession]) -> [LocalSession] {
        local.filter { session in
            func isMeant(_ wanted: String, _ present: String) -> Bool { wanted.isEmpty || wanted == present }
            guard isMeant(everywhere.service, session.service), isMeant(everywhere.account, session.account),
                isMeant(everywhere.provider, session.provider)
            else { return false }
            return session.signedIn.map { $0 < everywhere.event } ?? true
        }
    }

    /// The event's time for a new order for everywhere. It is always later than that of the previous order, even if the
    /// devices' clocks differ, so that a second order is obeyed, too.
    package static func event(now: Int64, after before: EverywhereValue?) -> Int64 {
        max(now, before.map { min($0.event, EverywhereValue.latest - 1) + 1 } ?? now)
    }
}

/// The time between two attempts to reach the registry.
package struct Backoff {
    /// The shortest and the longest pause, in milliseconds.
    private static let shortest: UInt32 = 1000
    private static let longest: UInt32 = 300_000
    private var next = Backoff.shortest

    package init() {}

    package mutating func reset() { next = Backoff.shortest }

    /// The next pause, in milliseconds: a random time between half of a limit and the limit, which doubles with each
    /// call. So the devices of a fleet do not return at the same moment.
    ///
    /// - Parameter random: a random number from 0 to 999.
    package mutating func pause(random: UInt32) -> UInt32 {
        defer { next = min(next * 2, Backoff.longest) }
        return next / 2 + UInt32(UInt64(next / 2) * UInt64(min(random, 999)) / 999)
    }
}

/// Converts this machine's time to the registry's clock.
package enum RegistryClock {
    /// The largest difference of the clocks, in seconds, that is attributed to rounding and ignored.
    package static let unnoticed: Int64 = 2

    /// Converts a time of this machine, in Unix seconds, to the registry's clock.
    package static func time(_ local: Int64, offset: Int64?) -> Int64 {
        guard let offset, abs(offset) > unnoticed else { return local }
        let (time, overflow) = local.addingReportingOverflow(offset)
        return overflow ? local : time
    }

    package static func now(_ registry: any Registry) -> Int64 {
        time(UnixTime.now.rawValue, offset: registry.clockOffset)
    }

    /// Converts a time of this machine, in milliseconds since 1970, to the registry's clock. The offset is in whole
    /// seconds, so the milliseconds stay unchanged.
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
