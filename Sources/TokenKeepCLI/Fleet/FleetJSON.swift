import TokenKeepCore
import TokenKeepFleet

/// The JSON values that `fleet … --json` writes.
enum FleetJSON {
    struct Listing: Encodable {
        private enum CodingKeys: String, CodingKey {
            case sessions, problem
            case asOf = "as_of"
        }

        private let sessions: [Session]
        private let asOf: String
        private let problem: JSONOutput.Nullable<JSONOutput.Problem>

        init(_ sessions: [FleetSession], of fleet: Fleet, _ listing: FleetListing, problem: TokenKeepError?) {
            self.sessions = sessions.map { Session($0, fleet, listing) }
            asOf = UnixTime(listing.asOf).iso8601
            self.problem = JSONOutput.Nullable(problem.map(JSONOutput.Problem.init))
        }
    }

    struct Session: Encodable {
        private enum CodingKeys: String, CodingKey {
            case device, service, account, state, provider, level, present, order
            case deviceName = "device_name"
            case isThisDevice = "this_device"
            case signedInAt = "signed_in_at"
            case validatedAt = "validated_at"
            case seenAt = "seen_at"
        }

        private let device, deviceName, service, account, state: String
        private let isThisDevice, present: Bool
        private let provider, level, signedInAt, validatedAt, seenAt, order: JSONOutput.Nullable<String>

        init(_ session: FleetSession, _ fleet: Fleet, _ listing: FleetListing, state: String? = nil) {
            let known = listing.device(session.device)
            device = session.device
            deviceName = known?.value.name ?? session.device
            isThisDevice = session.device == fleet.device
            service = session.value.service
            account = session.value.account
            self.state = state ?? session.value.state
            present = known?.isPresent ?? false
            provider = JSONOutput.Nullable(session.value.provider)
            level = JSONOutput.Nullable(session.value.level)
            signedInAt = JSONOutput.Nullable(session.value.signedInAt.map { UnixTime($0).iso8601 })
            validatedAt = JSONOutput.Nullable(session.value.validatedAt.map { UnixTime($0).iso8601 })
            seenAt = JSONOutput.Nullable(known?.seenAt.map { UnixTime($0).iso8601 })
            order = JSONOutput.Nullable(
                session.order.map {
                    switch $0 {
                    case .waiting: "waiting"
                    case .expired: "expired"
                    }
                })
        }
    }

    struct Device: Encodable {
        private enum CodingKeys: String, CodingKey {
            case id, name, system, version, joined, present
            case isThisDevice = "this_device"
            case seenAt = "seen_at"
        }

        private let id, name, system, version, joined: String
        private let isThisDevice, present: Bool
        private let seenAt: JSONOutput.Nullable<String>

        init(_ device: FleetDevice, _ fleet: Fleet) {
            id = device.id
            name = device.value.name
            system = device.value.system
            version = device.value.version
            joined = UnixTime(device.value.joined).iso8601
            isThisDevice = device.id == fleet.device
            present = device.isPresent
            seenAt = JSONOutput.Nullable(device.seenAt.map { UnixTime($0).iso8601 })
        }
    }

    struct Status: Encodable {
        private enum CodingKeys: String, CodingKey {
            case fleet, person, device, endpoint, version, revision, running, devices, unreadable
            case hasHoles = "has_known_holes"
            case waitingOrders = "waiting_orders"
            case ordersHere = "orders_here"
            case lag, lease, unpublished
            case isLeaseKnown = "lease_known"
            case secondsAhead = "clock_offset"
        }

        let fleet, person, device, endpoint, version: String
        let hasHoles, running: Bool
        let revision, secondsAhead: Int64
        let waitingOrders, unreadable, ordersHere: Int
        let lag: Int64
        /// The seconds until this device's lease expires; null if there is no lease, or if the registry did not report
        /// the lease. In the second case, `isLeaseKnown` is false.
        let lease: JSONOutput.Nullable<Int64>
        let isLeaseKnown: Bool
        let unpublished: JSONOutput.Nullable<Int>
        let devices: [Device]
    }

    struct Ordered: Encodable {
        private enum CodingKeys: String, CodingKey {
            case device, order, result, revocation
            case deviceName = "device_name"
        }

        private let device, deviceName, order: String
        private let result, revocation: JSONOutput.Nullable<String>

        init(_ order: GivenOrder, _ result: ResultValue?) {
            device = order.device
            deviceName = order.deviceName
            self.order = order.id
            self.result = JSONOutput.Nullable(result?.outcome.rawValue)
            revocation = JSONOutput.Nullable(result?.revocation)
        }
    }
}
