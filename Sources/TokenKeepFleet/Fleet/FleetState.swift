import Glibc
package import TokenKeepCore
import TokenKeepSession

/// A device's record of its registry's last state, kept in a file that is sealed under the user's key.
package struct FleetState {
    /// The maximum number of orders and of events that are remembered.
    private static let mostOrders = 1000

    package var cluster: UInt64 = 0
    package var revision: Int64 = 0
    /// The ids of obeyed orders, the latest last.
    package var obeyed: [String] = []
    /// The latest event of each `everywhere/ACCOUNT` that was obeyed, in milliseconds.
    package var handled: [String: Int64] = [:]
    /// The time at which this device joined, by the registry's clock, and its name there; 0 and "" if unknown.
    package var joined: Int64 = 0
    package var name = ""
    /// The beginnings of this device's sessions, in milliseconds of the registry's clock, by the sessions' identities.
    package var beginnings: [String: Int64] = [:]
    /// The hash of each published value and the time of its write, by ACCOUNT.
    package var published: [String: Published] = [:]
    /// The hash of a published value, and the time at which it was written.
    package struct Published: Equatable {
        /// The time, in seconds, after which an unchanged session is written again.
        private static let lifetime: Int64 = 86400

        package var hash: String
        package var at: Int64

        package init(hash: String, at: Int64) { (self.hash, self.at) = (hash, at) }

        /// Whether the value was written less than a day before `now`, or, if a clock was wrong, less than a day after.
        package func isFresh(at now: Int64) -> Bool {
            let (age, isBeyond) = now.subtractingReportingOverflow(at)
            return !isBeyond && age.magnitude < UInt64(Published.lifetime)
        }
    }

    package init() {}

    package mutating func remember(order: String) {
        guard !obeyed.contains(order) else { return }
        obeyed.append(order)
        if obeyed.count > FleetState.mostOrders { obeyed.removeFirst(obeyed.count - FleetState.mostOrders) }
    }

    /// Stores the latest event obeyed under a path `everywhere/ACCOUNT`. The oldest events are dropped, because an
    /// order is not obeyed after 30 days anyway.
    package mutating func remember(event at: Int64, of path: String) {
        handled[path] = at
        guard handled.count > FleetState.mostOrders, let oldest = handled.min(by: { $0.value < $1.value }) else {
            return
        }
        handled[oldest.key] = nil
    }

    /// Stores the id of the cluster and its revision. If the id differs from the stored id, or the revision is lower
    /// than the stored revision, everything is published again. Obeyed orders stay remembered.
    package mutating func meet(cluster: UInt64, revision: Int64) {
        if cluster != self.cluster || revision < self.revision {
            published = [:]
        }
        (self.cluster, self.revision) = (cluster, revision)
    }

    // MARK: The file

    private static let path = "state"

    /// `$XDG_STATE_HOME/tokenkeep/fleet`, or `.local/state/tokenkeep/fleet` in the user's home.
    package static func directory() throws(TokenKeepError) -> String {
        if !Privileges.areRaised, let value = getenv("XDG_STATE_HOME"), value.pointee == CChar(UInt8(ascii: "/")) {
            return String(cString: value) + "/tokenkeep/fleet"
        }
        guard let home = HomeDirectory.path() else {
            throw TokenKeepError(.io, "there is no directory for the fleet's state: the user has no home")
        }
        return home + "/.local/state/tokenkeep/fleet"
    }

    /// Reads the state; empty if the file is missing or damaged, so that everything is published again.
    package static func read(_ fleet: String, _ key: FleetKey) throws(TokenKeepError) -> FleetState {
        guard let bytes = try PrivateFile.read("\(directory())/\(fleet).state"),
            let plaintext = key.open(bytes, path: path),
            let json = plaintext.withUnsafeBytes({ JSONValue(parsing: $0, atMost: 1 << 20) })
        else { return FleetState() }
        var state = FleetState()
        state.cluster = json["cluster"]?.text.flatMap { UInt64($0) } ?? 0
        state.revision = json["revision"]?.integer ?? 0
        state.obeyed = json["obeyed"]?.texts ?? []
        for name in json["events"]?.names ?? [] { state.handled[name] = json["events"]?[name]?.integer }
        state.joined = json["joined"]?.integer ?? 0
        state.name = json["name"]?.text ?? ""
        for name in json["began"]?.names ?? [] { state.beginnings[name] = json["began"]?[name]?.integer }
        for name in json["published"]?.names ?? [] {
            guard let entry = json["published"]?[name], let hash = entry["hash"]?.text, let at = entry["at"]?.integer
            else { continue }
            state.published[name] = Published(hash: hash, at: at)
        }
        return state
    }

    package func write(_ fleet: String, _ key: FleetKey) throws(TokenKeepError) {
        let json = try JSONValue.object()
        try json.set("cluster", String(cluster))
        try json.set("revision", revision)
        let orders = try JSONValue.array()
        for order in obeyed { try orders.append(SecretBytes(order)) }
        try json.set("obeyed", orders)
        let seen = try JSONValue.object()
        for (name, event) in handled { try seen.set(name, event) }
        try json.set("events", seen)
        try json.set("joined", joined)
        try json.set("name", name)
        let began = try JSONValue.object()
        for (session, time) in beginnings { try began.set(session, time) }
        try json.set("began", began)
        let values = try JSONValue.object()
        for (account, published) in published {
            let entry = try JSONValue.object()
            try entry.set("hash", published.hash)
            try entry.set("at", published.at)
            try values.set(account, entry)
        }
        try json.set("published", values)
        let plaintext = try json.serialized()
        try PrivateFile.write(
            key.seal(plaintext, path: FleetState.path), to: "\(FleetState.directory())/\(fleet).state")
    }
}
