import TokenKeepCore

/// A queued request, read from the attributes of its head item. The item's account is the request's ID.
struct QueueEntry: Sendable, Equatable {
    private enum Name {
        static let session = "session"
        static let sequence = "sequence"
        static let bytes = "bytes"
        static let parts = "parts"
        static let end = "end"
        static let logoutMark = "logout-mark"
        static let outlivesLogout = "outlives-logout"
        static let head = "head"
    }

    let id: String
    /// The position of the request in the order of sending.
    let sequence: UInt64
    /// The total length of the head and all parts, in bytes.
    let bytes: Int
    /// The number of items besides the head.
    let parts: Int
    /// The time at which the request expires, in Unix seconds.
    let end: Int64
    /// The account's logout mark when the request was added. If the account's present logout mark differs, the request
    /// belongs to an ended session.
    let logoutMark: UInt32
    let outlivesLogout: Bool

    /// Returns the account of the item that stores part `number` of the body.
    func account(ofPart number: Int) -> String { "\(id).\(number)" }

    func attributes(session: String) throws(TokenKeepError) -> ItemAttributes {
        try ItemAttributes([
            (Name.session, session), (Name.sequence, String(sequence)), (Name.bytes, String(bytes)),
            (Name.parts, String(parts)), (Name.end, String(end)), (Name.logoutMark, String(logoutMark)),
            (Name.outlivesLogout, outlivesLogout ? "1" : "0"),
        ])
    }

    func attributesOfParts(session: String) throws(TokenKeepError) -> ItemAttributes {
        try ItemAttributes([(Name.session, session), (Name.head, id)])
    }

    /// The ID of the request to which a part belongs; nil if the item is not a part.
    static func head(ofPart details: ItemDetails, session: String) -> String? {
        details.attributes[Name.session] == session ? details.attributes[Name.head] : nil
    }
}

extension QueueEntry {
    /// Reads a request from its head item; nil if the item is not a head, or belongs to another session.
    init?(_ details: ItemDetails, session: String) {
        let attributes = details.attributes
        func number<Number: FixedWidthInteger>(_ name: String) -> Number? { attributes[name].flatMap { Number($0) } }
        guard attributes[Name.session] == session, attributes[Name.head] == nil,
            let sequence: UInt64 = number(Name.sequence), sequence <= QueueLimits.sequence,
            let bytes: Int = number(Name.bytes), bytes >= 0,
            let parts: Int = number(Name.parts), (0...QueueLimits.parts).contains(parts),
            let end: Int64 = number(Name.end), let logoutMark: UInt32 = number(Name.logoutMark)
        else { return nil }
        self.init(
            id: details.name.account, sequence: sequence, bytes: min(bytes, QueueLimits.bytes), parts: parts, end: end,
            logoutMark: logoutMark, outlivesLogout: attributes[Name.outlivesLogout] == "1")
    }
}

/// The limits of a queue.
enum QueueLimits {
    static let requests = 1_000
    /// The maximum value of ``QueueEntry/sequence``.
    static let sequence = UInt64.max - 1
    static let bytes = 64 << 20
    /// The maximum length of a body in the head item, in bytes. A longer body is stored in items of its own.
    static let longestInline = 64 << 10
    /// The maximum length of a part of a body, in bytes.
    static let part = Limits.secret
    static let parts = bytes / part
}
