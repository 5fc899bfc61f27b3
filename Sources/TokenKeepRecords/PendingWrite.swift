package import TokenKeepCore
import TokenKeepKeys

/// A change that a module on one machine missed. The module must get the record's value, or lose the item.
package struct PendingWrite: Sendable, Equatable {
    /// The change that the module missed.
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
    /// The change that the module missed.
    package var kind: Kind
    /// The time of the change.
    package var since: UnixTime
    /// The clocks at the time of the change.
    package var clocks: ClockMark
    /// A keyed fingerprint (16 bytes) of the module's value as last seen; nil if the value was absent or is unknown.
    package var base: [UInt8]?
    /// Keyed fingerprints (16 bytes each) of values that were sent but not acknowledged.
    package var inFlight: [[UInt8]]

    /// Describes a pending write.
    package init(
        module: String, machine: [UInt8], kind: Kind, since: UnixTime, clocks: ClockMark = .now,
        base: [UInt8]? = nil, inFlight: [[UInt8]] = []
    ) {
        self.module = module
        self.machine = machine
        self.kind = kind
        self.since = since
        self.clocks = clocks
        self.base = base
        self.inFlight = inFlight
    }

    private static let maximumInFlight = 16

    /// Whether another fingerprint fits into ``inFlight``.
    package var hasRoomInFlight: Bool { inFlight.count < PendingWrite.maximumInFlight }

    /// A copy with one more fingerprint in flight, of a value that was sent and may have arrived.
    package func sending(_ fingerprint: [UInt8]) -> PendingWrite {
        guard !inFlight.contains(fingerprint) else { return self }
        var copy = self
        copy.inFlight = inFlight.suffix(PendingWrite.maximumInFlight - 1) + [fingerprint]
        return copy
    }

    /// A copy dated now: changes that another program made earlier count as older.
    package var renewed: PendingWrite { renewed(at: .now, .now) }

    /// A copy with the given time of change.
    package func renewed(at time: UnixTime, _ clocks: ClockMark) -> PendingWrite {
        var copy = self
        copy.since = time
        copy.clocks = clocks
        return copy
    }

    /// A copy that removes the item instead of writing it.
    package var ofRemoval: PendingWrite {
        var copy = self
        copy.kind = .remove
        return copy
    }
}
