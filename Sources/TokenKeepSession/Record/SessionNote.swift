package import TokenKeepKeys

/// The state of a session, stored beside its record and readable while the vault is locked. Contains no token.
package struct SessionNote: Sendable, Equatable {
    /// A refresh request whose answer has not been saved.
    package struct Refreshing: Sendable, Equatable {
        /// The keyed fingerprint of the refresh token that was sent.
        package var fingerprint: [UInt8]
        package var since: SessionTime
        package var process: UInt32
        /// Whether the answer was received and is stored only in the stash. The refresh token is then used up.
        package var isAnswered = false

        fileprivate static let answered: UInt8 = 2

        fileprivate func serialized() -> [UInt8] {
            var part = ByteWriter()
            part.append(fingerprint)
            part.append(integer: since.wall)
            part.append(integer: since.boottime)
            part.append(integer: process)
            part.append(integer: UInt8(isAnswered ? Refreshing.answered : 0))
            part.append(since.boot.utf8)
            return part.bytes
        }
    }

    private enum Tag {
        static let kind: UInt16 = 1
        static let state: UInt16 = 2
        static let reason: UInt16 = 3
        static let generation: UInt16 = 4
        static let epoch: UInt16 = 5
        static let nextEpoch: UInt16 = 6
        static let expiresAt: UInt16 = 7
        static let refreshAt: UInt16 = 8
        static let coolDownUntil: UInt16 = 9
        static let coolDowns: UInt16 = 10
        static let canRenew: UInt16 = 11
        static let endedEpoch: UInt16 = 12
        static let provider: UInt16 = 13
        static let scope: UInt16 = 14
        static let level: UInt16 = 15
        static let refreshing: UInt16 = 16
        static let rotation: UInt16 = 17
        static let overlap: UInt16 = 18
        static let isStashed: UInt16 = 19
        static let endsLocally: UInt16 = 20
        static let validatedAt: UInt16 = 21
        static let refreshLevel: UInt16 = 22
        static let logoutMark = FieldReader.firstOptional + 1
        static let refreshItems = FieldReader.firstOptional + 2
        static let problem = FieldReader.firstOptional + 3
        static let pause = FieldReader.firstOptional + 4
        static let signedInAt = FieldReader.firstOptional + 5
        static let signedInMilliseconds = FieldReader.firstOptional + 6
    }

    /// The maximum length of ``problem``, in bytes. It suffices for two texts of a server, which ``ServerWords``
    /// shortens, and a few words.
    private static let longestProblem = 512

    package var kind = SessionKind.user
    package var state = SessionState.unknown
    package var reason = SessionReason.none
    package var generation: UInt64 = 0
    /// The epoch of the live session; "" if there is none.
    package var epoch = ""
    /// The epoch of a sign-in that is being written; "" if there is none.
    package var nextEpoch = ""
    /// The time at which the access token expires, in Unix seconds; 0 if unknown.
    package var expiresAt: Int64 = 0
    package var refreshAt: Int64 = 0
    package var coolDownUntil: Int64 = 0
    /// The cool-down until ``coolDownUntil``, measured by both clocks; nil in a note that an earlier version wrote.
    package var pause: Pause?
    /// The number of successive failed answers, from which the length of the next pause follows.
    package var coolDowns: UInt8 = 0
    /// A description of the last failed answer, or the server's message about the end of the session; "" if there is
    /// none.
    package var problem = ""
    package var canRenew = false
    /// The time at which the server last accepted a token of the session, in Unix seconds; 0 if unknown.
    package var validatedAt: Int64 = 0
    /// The time at which the session began, in Unix seconds by this machine's clock; 0 if unknown.
    package var signedInAt: Int64 = 0
    /// The milliseconds of the second ``signedInAt`` that had passed when the session began.
    package var signedInMilliseconds: UInt32 = 0
    /// The epoch of an ended session whose tokens are not queued and whose record is not cleared yet; "" if that record
    /// has no epoch. nil if no such work remains.
    package var endedEpoch: String?
    /// Whether the logout was local, so that no token of the ended session is sent to the server.
    package var endsLocally = false
    /// Whether the answer to the last refresh is in the stash, because the session's item could not be written.
    package var isStashed = false
    package var provider = ""
    package var scope = ""
    package var level: UInt32 = 0
    /// The level of the refresh token's own item, set before the item is written; 0 if there is no such item.
    package var refreshLevel: UInt32 = 0
    /// The items that may have a refresh token, as a bit mask: one bit for each account of
    /// ``SessionStorage/refreshAccounts(_:)``. 0 if ``refreshLevel`` is 0.
    package var refreshItems: UInt8 = 0
    /// A number that each logout replaces. Work that began before a logout compares it, so that it is not applied to a
    /// later session. A note that replaces a missing or damaged note begins with a random number.
    package var logoutMark: UInt32 = 0
    package var refreshing: Refreshing?
    /// Whether the server keeps used refresh tokens valid, as the sign-in's options stated.
    package var rotation = RotationProfile.strict

    package init() {}

    /// Parses the state that a note's file contains.
    ///
    /// - Throws: ``FormatFault`` if a field is malformed.
    package init(_ bytes: [UInt8]) throws(FormatFault) {
        self = try bytes.lent { bytes throws(FormatFault) in try SessionNote.parse(bytes) }
        completeRefreshItems()
    }

    private static func parse(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> SessionNote {
        var note = SessionNote()
        var fields = FieldReader(bytes)
        while let (tag, value) = try fields.next() {
            var reader = ByteReader(value)
            if try note.read(tag, from: &reader) { try reader.end() }
        }
        return note
    }

    /// Reads a field into the note. Returns false for an unknown optional field.
    private mutating func read(_ tag: UInt16, from reader: inout ByteReader) throws(FormatFault) -> Bool {
        switch tag {
        case Tag.kind: kind = try SessionNote.known(SessionKind(rawValue: reader.integer(UInt8.self, "kind")))
        case Tag.state: state = try SessionNote.known(SessionState(rawValue: reader.integer(UInt32.self, "state")))
        case Tag.reason: reason = try SessionNote.known(SessionReason(rawValue: reader.integer(UInt32.self, "reason")))
        case Tag.generation: generation = try reader.integer(UInt64.self, "generation")
        case Tag.epoch: epoch = try reader.text(reader.remaining, "epoch")
        case Tag.nextEpoch: nextEpoch = try reader.text(reader.remaining, "next epoch")
        case Tag.expiresAt: expiresAt = try reader.integer(Int64.self, "expiry")
        case Tag.refreshAt: refreshAt = try reader.integer(Int64.self, "time of the refresh")
        case Tag.coolDownUntil: coolDownUntil = try reader.integer(Int64.self, "cool-down")
        case Tag.coolDowns: coolDowns = try reader.integer(UInt8.self, "number of cool-downs")
        case Tag.canRenew: canRenew = try reader.integer(UInt8.self, "renewal") != 0
        case Tag.endedEpoch: endedEpoch = try reader.text(reader.remaining, "ended epoch")
        case Tag.endsLocally: endsLocally = try reader.integer(UInt8.self, "local end") != 0
        case Tag.validatedAt: validatedAt = try reader.integer(Int64.self, "validation")
        case Tag.isStashed: isStashed = try reader.integer(UInt8.self, "stash") != 0
        case Tag.provider: provider = try reader.text(reader.remaining, "provider")
        case Tag.scope: scope = try reader.text(reader.remaining, "scope")
        case Tag.level: level = try reader.integer(UInt32.self, "level")
        case Tag.refreshLevel: refreshLevel = try reader.integer(UInt32.self, "level of the refresh token")
        case Tag.refreshing: refreshing = try SessionNote.parseRefreshing(&reader)
        case Tag.rotation: rotation = try reader.integer(UInt8.self, "rotation") == 2 ? .none : .strict
        case Tag.overlap: rotation = .overlap(seconds: try reader.integer(UInt32.self, "overlap"))
        case Tag.refreshItems: refreshItems = try reader.integer(UInt8.self, "refresh tokens' items")
        case Tag.pause: pause = try Pause.parse(&reader)
        case Tag.problem: problem = try reader.text(reader.remaining, "problem")
        case Tag.signedInAt: signedInAt = try reader.integer(Int64.self, "sign-in")
        case Tag.signedInMilliseconds:
            signedInMilliseconds = min(try reader.integer(UInt32.self, "sign-in's milliseconds"), 999)
        case Tag.logoutMark: logoutMark = try reader.integer(UInt32.self, "logout")
        case FieldReader.firstOptional...: return false
        default: throw .malformed("it has an unknown field \(tag)")
        }
        return true
    }

    private mutating func completeRefreshItems() {
        refreshItems = refreshLevel == 0 ? 0 : refreshItems & 3
        // The field is not written if only the first item is in use, so a missing field means the first item.
        if refreshLevel != 0, refreshItems == 0 { refreshItems = 1 }
    }

    private static func known<Word>(_ word: Word?) throws(FormatFault) -> Word {
        guard let word else { throw .malformed("it has an unknown word") }
        return word
    }

    private static func parseRefreshing(_ reader: inout ByteReader) throws(FormatFault) -> Refreshing {
        let fingerprint = try reader.array(16, "fingerprint")
        let wall = try reader.integer(Int64.self, "time")
        let boottime = try reader.integer(Int64.self, "time")
        let process = try reader.integer(UInt32.self, "process")
        let isAnswered = try reader.integer(UInt8.self, "answer") == Refreshing.answered
        let boot = try reader.text(reader.remaining, "boot")
        return Refreshing(
            fingerprint: fingerprint, since: SessionTime(wall: wall, boottime: boottime, boot: boot),
            process: process, isAnswered: isAnswered)
    }

    /// Encodes the note for its file.
    package func serialized() -> [UInt8] {
        var writer = ByteWriter()
        writer.append(field: Tag.kind, integer: kind.rawValue)
        writer.append(field: Tag.state, integer: state.rawValue)
        writer.append(field: Tag.reason, integer: reason.rawValue)
        writer.append(field: Tag.generation, integer: generation)
        writer.append(field: Tag.epoch, epoch.utf8)
        writer.append(field: Tag.nextEpoch, nextEpoch.utf8)
        writer.append(field: Tag.expiresAt, integer: expiresAt)
        writer.append(field: Tag.refreshAt, integer: refreshAt)
        writer.append(field: Tag.coolDownUntil, integer: coolDownUntil)
        writer.append(field: Tag.coolDowns, integer: coolDowns)
        writer.append(field: Tag.canRenew, integer: UInt8(canRenew ? 1 : 0))
        if let endedEpoch { writer.append(field: Tag.endedEpoch, endedEpoch.utf8) }
        writer.append(field: Tag.provider, provider.utf8.count <= 255 ? Array(provider.utf8) : [])
        writer.append(field: Tag.scope, scope.utf8.count <= 1024 ? Array(scope.utf8) : [])
        writer.append(field: Tag.level, integer: level)
        if let refreshing { writer.append(field: Tag.refreshing, refreshing.serialized()) }
        switch rotation {
        case .strict: break
        case .none: writer.append(field: Tag.rotation, integer: UInt8(2))
        case .overlap(let seconds): writer.append(field: Tag.overlap, integer: seconds)
        }
        if isStashed { writer.append(field: Tag.isStashed, integer: UInt8(1)) }
        if endsLocally { writer.append(field: Tag.endsLocally, integer: UInt8(1)) }
        if validatedAt != 0 { writer.append(field: Tag.validatedAt, integer: validatedAt) }
        if refreshLevel != 0 { writer.append(field: Tag.refreshLevel, integer: refreshLevel) }
        if logoutMark != 0 { writer.append(field: Tag.logoutMark, integer: logoutMark) }
        if refreshLevel != 0, refreshItems > 1 { writer.append(field: Tag.refreshItems, integer: refreshItems) }
        if !problem.isEmpty, problem.utf8.count <= SessionNote.longestProblem {
            writer.append(field: Tag.problem, problem.utf8)
        }
        if let pause { writer.append(field: Tag.pause, pause.serialized()) }
        if signedInAt != 0 { writer.append(field: Tag.signedInAt, integer: signedInAt) }
        if signedInMilliseconds != 0 { writer.append(field: Tag.signedInMilliseconds, integer: signedInMilliseconds) }
        return writer.bytes
    }
}
