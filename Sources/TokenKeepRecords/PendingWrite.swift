package import TokenKeepCore
import TokenKeepKeys

/// A change that a module on one machine missed: it must get the record's value, or lose the item.
package struct PendingWrite: Sendable, Equatable {
    /// What the module must get.
    package enum Kind: UInt8, Sendable {
        /// The module must get the record's value.
        case write = 1
        /// The module must lose the item.
        case remove = 2
    }

    /// The module's name.
    package var module: String
    /// The hash of the machine that has the module, 16 bytes.
    package var machine: [UInt8]
    /// What the module must get.
    package var kind: Kind
    /// The time of the change.
    package var since: UnixTime
    /// A keyed fingerprint (16 bytes) of the module's value as last seen; nil where it was absent or is unknown.
    package var base: [UInt8]?
    /// Keyed fingerprints (16 bytes each) of values that were sent and not acknowledged.
    package var inFlight: [[UInt8]]

    /// Describes a pending write.
    package init(
        module: String, machine: [UInt8], kind: Kind, since: UnixTime, base: [UInt8]? = nil, inFlight: [[UInt8]] = []
    ) {
        self.module = module
        self.machine = machine
        self.kind = kind
        self.since = since
        self.base = base
        self.inFlight = inFlight
    }

    private static let maximumInFlight = 16

    /// Whether another fingerprint fits.
    package var hasRoomInFlight: Bool { inFlight.count < PendingWrite.maximumInFlight }

    /// The same with the fingerprint of a value that was sent and may have arrived.
    package func sending(_ fingerprint: [UInt8]) -> PendingWrite {
        guard !inFlight.contains(fingerprint) else { return self }
        var copy = self
        copy.inFlight = inFlight.suffix(PendingWrite.maximumInFlight - 1) + [fingerprint]
        return copy
    }

    /// The same for a change of now: what another program changed earlier is older.
    package var renewed: PendingWrite { renewed(at: .now) }

    /// The same for a change of that time.
    package func renewed(at time: UnixTime) -> PendingWrite {
        var copy = self
        copy.since = time
        return copy
    }

    /// The same for an item that is cleared.
    package var ofRemoval: PendingWrite {
        var copy = self
        copy.kind = .remove
        return copy
    }
}
