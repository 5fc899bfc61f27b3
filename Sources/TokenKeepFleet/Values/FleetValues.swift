package import TokenKeepCore
import TokenKeepSession

/// A value of the registry: one line of JSON that is sealed for its path.
package protocol FleetValue: Sendable, Equatable {
    /// The members, sorted by name. Numbers are integers.
    var members: [(String, FleetMember?)] { get }
    /// Reads the members; nil if a required member is missing or malformed. Unknown members are ignored.
    init?(_ members: FleetMembers)
}

package enum FleetMember: Sendable {
    case text(String)
    case number(Int64)
}

/// The members of an opened value.
package struct FleetMembers {
    /// The last second of the year 9999, in Unix seconds.
    static let latest: Int64 = 253_402_300_799
    /// The times that a value may contain, in Unix seconds.
    static let times = 0...latest

    let json: JSONValue

    /// A text member of at most 1024 bytes; nil if it is missing or longer.
    package func text(_ name: String) -> String? {
        json[name]?.text.flatMap { $0.utf8.count <= 1024 ? $0 : nil }
    }

    /// A time in Unix seconds up to the year 9999; nil for any other number, which could overflow a calculation.
    package func time(_ name: String) -> Int64? {
        json[name]?.integer.flatMap { FleetMembers.times.contains($0) ? $0 : nil }
    }

    /// An id of exactly `digits` hexadecimal digits; nil if the member is anything else.
    package func id(_ name: String, digits: Int) -> String? {
        text(name).flatMap { FleetPaths.isID($0, digits: digits) ? $0 : nil }
    }
}

extension FleetValue {
    /// The plaintext of the value, as JSON.
    package func serialized() throws(TokenKeepError) -> SecretBytes {
        let json = try JSONValue.object()
        for (name, member) in members {
            switch member {
            case .text(let text): try json.set(name, text)
            case .number(let number): try json.set(name, number)
            case nil: continue
            }
        }
        return try json.serialized()
    }

    /// Seals the value for a path.
    package func sealed(_ key: FleetKey, for path: String) throws(TokenKeepError) -> [UInt8] {
        key.seal(try serialized(), path: path)
    }

    /// Opens a value; nil if it was forged, moved to another path or written by a later version.
    package static func open(_ entry: RegistryEntry, _ key: FleetKey) -> Self? {
        key.open(entry.value, path: entry.key)?.withUnsafeBytes { Self(plaintext: $0) }
    }

    /// Parses a plaintext; nil if it was written by a later version.
    package init?(plaintext: UnsafeRawBufferPointer) {
        guard let json = JSONValue(parsing: plaintext, atMost: 4096) else { return nil }
        self.init(FleetMembers(json: json))
    }
}

/// The value of `devices/DEVICE`: a device's name, system, version and time of joining.
package struct DeviceValue: FleetValue {
    package var name: String
    package var system: String
    package var version: String
    package var joined: Int64

    package init(name: String, system: String, version: String, joined: Int64) {
        (self.name, self.system, self.version, self.joined) = (name, system, version, joined)
    }

    package var members: [(String, FleetMember?)] {
        [("joined", .number(joined)), ("name", .text(name)), ("system", .text(system)), ("version", .text(version))]
    }

    package init?(_ members: FleetMembers) {
        guard let name = members.text("name"), let joined = members.time("joined") else { return nil }
        self.init(
            name: name, system: members.text("system") ?? "", version: members.text("version") ?? "", joined: joined)
    }
}

/// The value of `present/DEVICE`: the time at which the device was last present. The key's existence does not prove
/// that the device is present, because a lease may end late.
package struct PresentValue: FleetValue {
    package var at: Int64

    package init(at: Int64) { self.at = at }
    package var members: [(String, FleetMember?)] { [("at", .number(at))] }

    package init?(_ members: FleetMembers) {
        guard let at = members.time("at") else { return nil }
        self.at = at
    }
}

/// The value of `sessions/ACCOUNT/DEVICE`: a published session.
package struct SessionValue: FleetValue {
    package var session: String
    package var service: String
    package var account: String
    package var state: String
    package var level: String?
    package var provider: String?
    package var signedInAt: Int64?
    package var validatedAt: Int64?
    package var subject: String?
    package var email: String?

    package init(session: String, service: String, account: String, state: String) {
        (self.session, self.service, self.account, self.state) = (session, service, account, state)
    }

    package var members: [(String, FleetMember?)] {
        [
            ("account", .text(account)), ("email", email.map(FleetMember.text)), ("level", level.map(FleetMember.text)),
            ("provider", provider.map(FleetMember.text)), ("service", .text(service)), ("session", .text(session)),
            ("signed_in_at", signedInAt.map(FleetMember.number)), ("state", .text(state)),
            ("subject", subject.map(FleetMember.text)), ("validated_at", validatedAt.map(FleetMember.number)),
        ]
    }

    package init?(_ members: FleetMembers) {
        guard let session = members.id("session", digits: 32), let service = members.text("service"),
            let account = members.text("account"), let state = members.text("state")
        else { return nil }
        self.init(session: session, service: service, account: account, state: state)
        level = members.text("level")
        provider = members.text("provider")
        signedInAt = members.time("signed_in_at")
        validatedAt = members.time("validated_at")
        subject = members.id("subject", digits: 32)
        email = members.id("email", digits: 32)
    }
}

/// The value of `orders/DEVICE/ID`: an order to end one session on the device.
package struct OrderValue: FleetValue {
    /// The time after which an order is no longer obeyed, in seconds.
    package static let lifetime: Int64 = 30 * 86400

    package var session: String
    package var service: String
    package var account: String
    /// The device that gave the order; "" for an administrator.
    package var from: String
    package var reason: String
    package var at: Int64
    /// The time, in Unix seconds, of the event that is the reason for this order. The same as `at`, unless an
    /// administrator selects sessions that began before an earlier time: then that time.
    package var eventAt: Int64

    package init(
        session: String, service: String, account: String, from: String, reason: String, at: Int64, eventAt: Int64
    ) {
        (self.session, self.service, self.account) = (session, service, account)
        (self.from, self.reason, self.at, self.eventAt) = (from, reason, at, eventAt)
    }

    package var members: [(String, FleetMember?)] {
        [
            ("account", .text(account)), ("at", .number(at)), ("event_at", .number(eventAt)), ("from", .text(from)),
            ("reason", .text(reason)), ("service", .text(service)), ("session", .text(session)),
            ("what", .text("sign-out")),
        ]
    }

    package init?(_ members: FleetMembers) {
        guard members.text("what") == "sign-out", let session = members.id("session", digits: 32),
            let service = members.text("service"), let account = members.text("account"),
            let at = members.time("at"), let eventAt = members.time("event_at")
        else { return nil }
        self.init(
            session: session, service: service, account: account, from: members.text("from") ?? "",
            reason: members.text("reason") ?? "", at: at, eventAt: eventAt)
    }
}

/// The value of `everywhere/ACCOUNT`: an order to end the account's sessions that began before the event, also
/// unpublished ones.
package struct EverywhereValue: FleetValue {
    /// The service and the account; "" stands for all services or accounts.
    package var service: String
    package var account: String
    /// The provider; "" stands for all providers.
    package var provider: String
    package var from: String
    package var reason: String
    /// The time of the event that is the reason for the order, in milliseconds since 1970, so that two orders within
    /// one second have different events.
    package var event: Int64

    /// The maximum of ``event``.
    package static let latest = FleetMembers.latest * 1000 + 999

    package init(service: String, account: String, provider: String, from: String, reason: String, event: Int64) {
        (self.service, self.account, self.provider) = (service, account, provider)
        (self.from, self.reason, self.event) = (from, reason, event)
    }

    /// The whole seconds of ``event``.
    package var eventAt: Int64 { event / 1000 }

    package var members: [(String, FleetMember?)] {
        [
            ("account", .text(account)), ("event_at", .number(eventAt)), ("event_ms", .number(event % 1000)),
            ("from", .text(from)), ("provider", .text(provider)), ("reason", .text(reason)),
            ("service", .text(service)), ("what", .text("sign-out")),
        ]
    }

    package init?(_ members: FleetMembers) {
        guard members.text("what") == "sign-out", let service = members.text("service"),
            let account = members.text("account"), let eventAt = members.time("event_at")
        else { return nil }
        self.init(
            service: service, account: account, provider: members.text("provider") ?? "",
            from: members.text("from") ?? "", reason: members.text("reason") ?? "",
            event: eventAt * 1000 + min(members.time("event_ms") ?? 0, 999))
    }
}

/// The value of `results/ID`: the result of an order.
package struct ResultValue: FleetValue {
    /// The time for which a result is kept, in seconds.
    package static let lifetime: Int64 = 7 * 86400

    package enum Outcome: String, Sendable {
        /// The session was ended.
        case done
        /// The session had ended before.
        case gone
        /// The order was older than 30 days.
        case expired
    }

    package var device: String
    package var outcome: Outcome
    /// The state of the tokens' revocation at the provider: done, queued, none or waiting-for-unlock.
    package var revocation: String
    package var at: Int64

    package init(device: String, outcome: Outcome, revocation: String, at: Int64) {
        (self.device, self.outcome, self.revocation, self.at) = (device, outcome, revocation, at)
    }

    package var members: [(String, FleetMember?)] {
        [
            ("at", .number(at)), ("device", .text(device)), ("outcome", .text(outcome.rawValue)),
            ("revocation", .text(revocation)),
        ]
    }

    package init?(_ members: FleetMembers) {
        guard let device = members.id("device", digits: 16),
            let outcome = members.text("outcome").flatMap(Outcome.init(rawValue:)), let at = members.time("at")
        else { return nil }
        self.init(device: device, outcome: outcome, revocation: members.text("revocation") ?? "", at: at)
    }
}

/// The value of `names/USER`: a user's name, sealed under the fleet's key.
package struct NameValue: FleetValue {
    package var name: String
    /// The name of the user at etcd; "" if there is none.
    package var user: String

    package init(name: String, user: String) { (self.name, self.user) = (name, user) }

    package var members: [(String, FleetMember?)] { [("name", .text(name)), ("user", .text(user))] }

    package init?(_ members: FleetMembers) {
        guard let name = members.text("name") else { return nil }
        self.init(name: name, user: members.text("user") ?? "")
    }
}
