package import TokenKeepCore
import TokenKeepKeys

/// A write or removal of an item that a module on one machine missed.
package struct PendingWrite: Sendable, Equatable {
    /// The kind of change that the module missed: a write or a removal.
    package enum Kind: UInt8, Sendable {
        /// The module must save the record's value.
        case write = 1
        /// The module must remove the item.
        case remove = 2
    }

    /// The module's name.
    package var module: String
    /// The hash (16 bytes) of the id of the machine that the module is on.
    package var machine: [UInt8]
    /// Whether the module must save or remove the item.
    package var kind: Kind
    /// The time at which the item was changed.
    package var since: UnixTime
    /// The state of the machine's clocks when the item was changed.
    package var clocks: ClockMark
    /// The keyed fingerprint (16 bytes) of the value that the module was last known to hold; nil if none is known.
    package var base: [UInt8]?
    /// The keyed fingerprints (16 bytes each) of values that were sent to the module and not confirmed.
    package var inFlight: [[UInt8]]

    /// Makes a pending write or removal with these values.
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

    /// Whether ``inFlight`` has room for another fingerprint.
    package var hasRoomInFlight: Bool { inFlight.count < PendingWrite.maximumInFlight }

    /// A copy with another fingerprint in ``inFlight``, because its value is about to be sent to the module.
    package func sending(_ fingerprint: [UInt8]) -> PendingWrite {
        guard !inFlight.contains(fingerprint) else { return self }
        var copy = self
        copy.inFlight = inFlight.suffix(PendingWrite.maximumInFlight - 1) + [fingerprint]
        return copy
    }

    /// A copy of this pending change with the current time.
    ///
    /// Values that other programs have written to the module until now then count as older than the change.
    package var renewed: PendingWrite { renewed(at: .now, .now) }

    /// A copy of this pending change with another time.
    package func renewed(at time: UnixTime, _ clocks: ClockMark) -> PendingWrite {
        var copy = self
        copy.since = time
        copy.clocks = clocks
        return copy
    }

    /// A copy that removes the item from the module, instead of writing the item.
    package var ofRemoval: PendingWrite {
        var copy = self
        copy.kind = .remove
        return copy
    }
}
