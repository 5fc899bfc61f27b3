package import TokenKeepCore

/// A key of the registry with its value.
package struct RegistryEntry: Sendable, Equatable {
    /// The path of the key.
    package let key: String
    package var value: [UInt8]
    /// The registry's revision at the last change of the key.
    package let changedAt: Int64
    /// The id of the lease whose end deletes the key; 0 if the key has no lease.
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
    /// The registry's revision at which the entries were listed.
    package var revision: Int64 = 0
    /// The id of the registry's cluster. Two registries have different ids.
    package var cluster: UInt64 = 0

    package init() {}
}

/// A change in a transaction.
package enum RegistryChange: Sendable {
    /// Writes a value. When the lease ends, the registry deletes the key. The lease 0 means that there is no lease.
    case put(String, [UInt8], lease: Int64)
    case delete(String)
    /// Deletes all keys with this prefix.
    case deleteAll(prefix: String)
}

/// A failed call of the registry.
package struct RegistryFailure: Error {
    package enum Kind: Sendable {
        /// No registry answered, or the cluster has no leader. The request may have been executed.
        case away
        /// The server's or this device's certificate was rejected.
        case certificate
        /// The password is wrong, or the user lacks a right.
        case denied
        /// The registry's database is full. It accepts only removals.
        case full
        /// The lease has ended.
        case leaseGone
        /// The revision was compacted or is in the future.
        case compacted
        /// A listing or an answer exceeds its maximum length.
        case tooLong
        /// Any other failure, for example an exceeded limit.
        case fault
    }

    package let kind: Kind
    package let error: TokenKeepError

    init(_ kind: Kind, _ error: TokenKeepError) {
        self.kind = kind
        self.error = error
    }
}

/// A key-value store that holds the registry. An object is used by one thread.
///
/// Every call ends by its deadline and may be repeated, because it is a plain read or a transaction with conditions.
package protocol Registry: AnyObject {
    /// The seconds by which the server's clock is ahead of this machine's; nil before the first answer.
    var clockOffset: Int64? { get }
    /// The address of the server that gave the last answer.
    var endpoint: String { get }

    /// Closes all connections, which may be dead after a change of network.
    func disconnect()
    /// Lists the keys with a prefix, at one revision.
    func list(prefix: String, keysOnly: Bool) throws(RegistryFailure) -> RegistryListing
    /// Applies changes in one transaction if none of the keys `absent` exists. Returns whether they were applied.
    func change(_ changes: [RegistryChange], ifAbsent absent: [String]) throws(RegistryFailure) -> Bool
    /// Applies changes in one transaction if all of the keys `present` exist. Returns whether they were applied.
    func change(_ changes: [RegistryChange], ifPresent present: [String]) throws(RegistryFailure) -> Bool
    /// Applies changes in one transaction if each key was last changed at its revision. Returns whether they were
    /// applied.
    ///
    /// The revision 0 means that the key is absent.
    func change(_ changes: [RegistryChange], ifUnchanged revisions: [String: Int64]) throws(RegistryFailure) -> Bool
    /// Grants a lease that lasts `seconds`, and returns its id.
    func grant(seconds: Int64) throws(RegistryFailure) -> Int64
    /// Renews a lease. Throws ``RegistryFailure/Kind/leaseGone`` if the lease has ended.
    func renew(lease: Int64) throws(RegistryFailure)
    /// The remaining time of a lease, in seconds; nil if the lease has ended.
    func timeLeft(lease: Int64) throws(RegistryFailure) -> Int64?
    /// The version of the server.
    func version() throws(RegistryFailure) -> String
    /// Starts a watch of prefixes at the revision of a listing.
    func watch(prefixes: [String], from revision: Int64) throws(RegistryFailure) -> any RegistryWatch
}

/// An event of a watch.
package enum RegistryEvent: Sendable {
    /// The time limit passed, or a descriptor is readable.
    case nothing
    /// Keys changed.
    case changed
    /// The watch has ended or is silent, for the given reason. The caller must list and watch again.
    case ended(String)
}

/// A watch of prefixes. The watch ends when the object is released.
package protocol RegistryWatch: AnyObject {
    /// Waits until a key changes, a descriptor is readable or the time limit passes.
    func next(within milliseconds: UInt32, or one: Int32, _ other: Int32) -> RegistryEvent
    /// Sends a progress request, because the connection may be dead after a change of network.
    func probe()
}
