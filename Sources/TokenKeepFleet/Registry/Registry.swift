package import TokenKeepCore

/// A key of the registry with its value.
package struct RegistryEntry: Sendable, Equatable {
    /// The path.
    package let key: String
    package var value: [UInt8]
    /// The registry's revision at the last change of the key.
    package let changedAt: Int64
    /// The lease with which the key ends; 0 for none.
    package let lease: Int64

    package init(key: String, value: [UInt8], changedAt: Int64, lease: Int64 = 0) {
        self.key = key
        self.value = value
        self.changedAt = changedAt
        self.lease = lease
    }
}

/// The entries of a prefix, all at one revision.
package struct RegistryListing: Sendable {
    package var entries: [RegistryEntry] = []
    /// The registry's revision.
    package var revision: Int64 = 0
    /// The registry's own number: another one is another registry.
    package var cluster: UInt64 = 0

    package init() {}
}

/// A change in a transaction.
package enum RegistryChange: Sendable {
    /// Writes a value, which ends with a lease unless the lease is 0.
    case put(String, [UInt8], lease: Int64)
    case delete(String)
    /// Deletes all keys that begin so.
    case deleteAll(prefix: String)
}

/// A failed call of the registry.
package struct RegistryFailure: Error {
    package enum Kind: Sendable {
        /// No registry answered, or the cluster has no leader. What was sent may have been done.
        case away
        /// The certificate of the server or of this device.
        case certificate
        /// The password, or a right.
        case denied
        /// The registry is full.
        case full
        /// The lease has ended.
        case leaseGone
        /// The revision is not kept any more.
        case compacted
        /// The listing, or an answer, is longer than allowed.
        case tooLong
        /// All else, such as a limit.
        case fault
    }

    package let kind: Kind
    package let error: TokenKeepError

    init(_ kind: Kind, _ error: TokenKeepError) {
        self.kind = kind
        self.error = error
    }
}

/// The engine that keeps the registry. One thread uses an object of it.
///
/// Every call ends by its deadline, and may be repeated: each is a plain read, or a transaction that states what it found.
package protocol Registry: AnyObject {
    /// The seconds by which the server's clock is ahead of this machine's; nil before the first answer.
    var clockOffset: Int64? { get }
    /// The address of the server that gave the last answer.
    var endpoint: String { get }

    /// Closes connections that the network may have left dead.
    func disconnect()
    /// Lists the keys with a prefix, at one revision.
    func list(prefix: String, keysOnly: Bool) throws(RegistryFailure) -> RegistryListing
    /// Makes changes at once, if none of the keys `absent` exists. Returns whether the changes were made.
    func change(_ changes: [RegistryChange], ifAbsent absent: [String]) throws(RegistryFailure) -> Bool
    /// Makes changes at once, if all of the keys `present` exist. Returns whether the changes were made.
    func change(_ changes: [RegistryChange], ifPresent present: [String]) throws(RegistryFailure) -> Bool
    /// Makes changes at once, if each of the keys was last changed at its revision; 0 for a key that is absent. Returns
    /// whether the changes were made.
    func change(_ changes: [RegistryChange], ifUnchanged revisions: [String: Int64]) throws(RegistryFailure) -> Bool
    /// A new lease of so many seconds.
    func grant(seconds: Int64) throws(RegistryFailure) -> Int64
    /// Renews a lease. ``RegistryFailure/Kind/leaseGone`` if it has ended.
    func renew(lease: Int64) throws(RegistryFailure)
    /// The seconds that a lease has left; nil if it has ended.
    func timeLeft(lease: Int64) throws(RegistryFailure) -> Int64?
    /// The version of the server.
    func version() throws(RegistryFailure) -> String
    /// Watches prefixes from a listed revision on.
    func watch(prefixes: [String], from revision: Int64) throws(RegistryFailure) -> any RegistryWatch
}

/// An event of a watch.
package enum RegistryEvent: Sendable {
    /// The time is over, or a descriptor is readable.
    case nothing
    /// Keys changed.
    case changed
    /// The watch has ended, or is not heard any more: list anew, and watch again.
    case ended(String)
}

/// A watch of prefixes, which ends with the object.
package protocol RegistryWatch: AnyObject {
    /// Waits for a change, so long at most, or until a descriptor is readable.
    func next(within milliseconds: UInt32, or one: Int32, _ other: Int32) -> RegistryEvent
    /// Asks the server to say that it is there: the network may have changed.
    func probe()
}
