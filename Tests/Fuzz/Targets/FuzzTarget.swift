import TokenKeepCore
import TokenKeepRecords
import TokenKeepSession

/// A rule that an input broke.
public struct BrokenRule: Error, CustomStringConvertible {
    /// The rule.
    public let description: String
}

/// A reader of untrusted bytes, and what must hold of all that it takes: it can be written and read again.
public enum FuzzTarget: String, CaseIterable, Sendable {
    case record, note, response, answer, claims, date, json
    case provider, metadata, redirect, device, request, limit
    case page, event, value, invitation, certificate, fleet

    static let now = SessionTime(wall: 1_800_000_000, boottime: 1000, boot: "one")

    /// Reads an input.
    ///
    /// - Returns: whether the reader takes the input.
    /// - Throws: ``BrokenRule``
    public func takes(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        switch self {
        case .record: try FuzzTarget.takesRecord(bytes)
        case .note: try FuzzTarget.takesNote(bytes)
        case .response: try FuzzTarget.takesResponse(bytes)
        case .answer: try FuzzTarget.takesAnswer(bytes)
        case .claims: try FuzzTarget.takesClaims(bytes)
        case .date: try FuzzTarget.takesDate(bytes)
        case .json: try FuzzTarget.takesJSON(bytes)
        case .provider: try FuzzTarget.takesProvider(bytes)
        case .metadata: try FuzzTarget.takesMetadata(bytes)
        case .redirect: try FuzzTarget.takesRedirect(bytes)
        case .device: try FuzzTarget.takesDevice(bytes)
        case .request: try FuzzTarget.takesRequest(bytes)
        case .limit: try FuzzTarget.takesLimit(bytes)
        case .page: try FuzzTarget.takesPage(bytes)
        case .event: try FuzzTarget.takesEvent(bytes)
        case .value: try FuzzTarget.takesValue(bytes)
        case .invitation: try FuzzTarget.takesInvitation(bytes)
        case .certificate: try FuzzTarget.takesCertificate(bytes)
        case .fleet: try FuzzTarget.takesFleet(bytes)
        }
    }

    static func check(_ holds: Bool, _ rule: String) throws {
        if !holds { throw BrokenRule(description: rule) }
    }

    private static func takesRecord(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        guard var record = try? SessionRecord(copy(bytes), now: now) else { return false }
        let left = record.life.left(at: now)
        try check(left.map { $0 >= 0 } ?? true, "a record has a negative time left")
        _ = (record.kind, record.scope, record.provider, record.generation)
        guard let written = try? record.serialized() else { return true }  // it was read in an older, shorter form
        let again = try SessionRecord(written, now: now)
        try check(again.accessToken == record.accessToken, "a record has another access token after it was written")
        try check(again.refreshToken == record.refreshToken, "a record has another refresh token after it was written")
        try record.replaceTokens(by: try SessionRecord(record.serializedForStash(), now: now))
        try check(again.accessToken == record.accessToken, "a record has another access token after its stash")
        try check(again.refreshToken == record.refreshToken, "a record has another refresh token after its stash")
        return true
    }

    private static func takesNote(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        guard let note = try? SessionNote(Array(bytes)) else { return false }
        let again = try SessionNote(note.serialized())
        var comparable = note
        // Too long a scope or provider is left out.
        (comparable.scope, comparable.provider) = (again.scope, again.provider)
        try check(again == comparable, "a note differs after it was written")
        return true
    }

    private static func takesResponse(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        guard let response = try? TokenResponse.strict(bytes) else { return false }
        let record = try SessionRecord(.user, response, epoch: "ab", vault: "cd", provider: nil, now: now)
        guard let written = try? record.serialized() else { return true }
        let again = try SessionRecord(written, now: now)
        try check(again.accessToken == response.accessToken, "a response's access token is another in the record")
        try check(again.refreshToken == response.refreshToken, "a response's refresh token is another in the record")
        return true
    }

    /// The first byte chooses the status; what follows up to a newline is Retry-After.
    private static func takesAnswer(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        let statuses = [200, 400, 401, 429, 503, 302, 500]
        let status = statuses[Int(bytes.first ?? 0) % statuses.count]
        let rest = bytes.dropFirst()
        let line = rest.prefix { $0 != UInt8(ascii: "\n") }
        let body = try copy(UnsafeRawBufferPointer(rebasing: rest.dropFirst(line.count + 1)))
        let response = SessionResponse(
            status: status, headers: [(name: "Retry-After", value: String(decoding: line, as: UTF8.self))], body: body)
        switch try RefreshAnswer.judge(response, serverTime: now.wall) {
        case .tokens: try check(status == 200, "tokens with status \(status)")
        // GitHub refuses with status 200.
        case .refused: try check([200, 400, 401].contains(status), "a refusal with status \(status)")
        case .interaction: try check([200, 400, 401].contains(status), "a question to the user with status \(status)")
        case .denied: try check([200, 400, 401].contains(status), "a denial with status \(status)")
        case .coolDown(let seconds, _):
            try check(seconds.map { (0...86_400).contains($0) } ?? true, "a cool-down of \(seconds ?? -1) s")
        case .unknown: return false
        }
        return true
    }

    private static func takesClaims(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        guard let claims = try UnverifiedClaims(unverified: copy(bytes)) else { return false }
        _ = (claims.unverified("sub"), claims.unverified("exp"), claims.unverified("aud"))
        try check(claims.serialized().count > 1, "claims are written as nothing")
        return true
    }

    private static func takesDate(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        let delay = HTTPDate.delay(text, now: now.wall)
        try check(delay.map { $0 >= 0 } ?? true, "a negative delay")
        let seconds = HTTPDate.seconds(text)
        try check(seconds.map { (0...253_402_300_800).contains($0) } ?? true, "a date beyond the year 9999")
        return delay != nil || seconds != nil
    }

    /// An answer that is read liberally is written as JSON that is read strictly, and a text that needs no repair keeps its
    /// meaning in one.
    private static func takesJSON(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        guard let answer = JSONValue.answer(bytes) else { return false }
        let written = try answer.serialized()
        if written.count <= JSONValue.maximumLength {
            let again = written.withUnsafeBytes { JSONValue(parsing: $0) }
            try check(again != nil, "an answer that was written is unreadable")
            try check(try again?.serialized() == written, "an answer differs after it was written")
        }
        // What lies deeper than 256 levels becomes null.
        guard bytes.count(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[") }) <= 256,
            let repaired = try JSONRepair.repaired(bytes), repaired.count <= JSONValue.maximumLength,
            let reread = repaired.withUnsafeBytes({ JSONValue.answer($0) })
        else { return true }
        try check(try reread.serialized() == written, "a repaired answer has another meaning")
        return true
    }

    static func copy(_ bytes: UnsafeRawBufferPointer) throws -> SecretBytes {
        try SecretBytes(count: bytes.count) { $0.copyMemory(from: bytes) }
    }
}
