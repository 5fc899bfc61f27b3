import TokenKeepCore
import TokenKeepKeys

extension SessionResponse {
    /// The seconds to wait that the server's header Retry-After states, at most a day; nil if there is no readable
    /// header.
    func wait(serverTime: Int64) -> Int64? {
        header("Retry-After").flatMap { HTTPDate.delay($0, now: serverTime) }.map { min($0, AnswerRules.longestWait) }
    }
}

extension SessionNote {
    /// The beginning of a note's problem if the server asks to wait.
    static let asksToWait = "it asks to wait"

    /// The beginning and the length of a cool-down, in which no process asks the server.
    package struct Pause: Sendable, Equatable {
        package var since: SessionTime
        package var seconds: Int64

        /// The seconds left, by the clock on which more time has passed. 0 if no clock can tell, which happens if the
        /// machine was restarted and its wall clock was set back.
        func left(at now: SessionTime) -> Int64 {
            // A pause that begins in the future of the same start of the machine is forged, and might never end, so it
            // is ignored.
            let isPast =
                now.boot == since.boot
                ? since.boottime >= 0 && since.boottime <= now.boottime : now.wall >= since.wall
            guard isPast else { return 0 }
            return max(0, seconds - TokenLife(obtained: since).age(at: now))
        }

        func serialized() -> [UInt8] {
            var part = ByteWriter()
            part.append(integer: seconds)
            part.append(integer: since.wall)
            part.append(integer: since.boottime)
            part.append(since.boot.utf8)
            return part.bytes
        }

        static func parse(_ reader: inout ByteReader) throws(FormatFault) -> Pause {
            let seconds = try reader.integer(Int64.self, "length of the pause")
            let wall = try reader.integer(Int64.self, "time")
            let boottime = try reader.integer(Int64.self, "time")
            let boot = try reader.text(reader.remaining, "boot")
            // Checked, because whoever has the keyfile can forge a note.
            guard (0...AnswerRules.longestWait).contains(seconds) else { throw .malformed("its pause is out of range") }
            return Pause(since: SessionTime(wall: wall, boottime: boottime, boot: boot), seconds: seconds)
        }
    }

    /// Notes an answer without tokens, and begins the pause in which no process asks the server again.
    ///
    /// - Parameter problem: the server's error message, or a description of its faulty answer.
    mutating func coolDown(after failure: AnswerRules.Failure, _ problem: String, now: SessionTime) {
        let seconds = AnswerRules.pause(after: failure, earlierFailures: Int(coolDowns))
        coolDownUntil = now.wall + seconds
        pause = Pause(since: now, seconds: seconds)
        coolDowns = min(coolDowns, 100) + 1
        self.problem = problem
    }

    /// Ends the cool-down, and resets the number of failures, after an answer with tokens.
    mutating func endCoolDown() {
        coolDownUntil = 0
        pause = nil
        coolDowns = 0
        problem = ""
    }

    /// The seconds until the server may be asked again; nil if it may be asked now.
    func coolDown(at now: SessionTime) -> Int64? {
        // Compares the clock since boot first, so that setting the wall clock back neither lengthens nor ends the
        // pause.
        if let pause, pause.since.boot == now.boot {
            let rest = pause.left(at: now)
            return rest > 0 ? rest : nil
        }
        let left = coolDownUntil.subtractingReportingOverflow(now.wall)
        guard !left.overflow, left.partialValue > 0, left.partialValue <= AnswerRules.longestWait else { return nil }
        guard let rest = pause?.left(at: now) else { return left.partialValue }
        return rest > 0 ? min(rest, left.partialValue) : nil
    }

    /// The time, by the wall clock, at which the server may be asked again; nil if it may be asked now.
    func coolDownEnd(at now: SessionTime) -> UnixTime? {
        coolDown(at: now).map { seconds in
            let (end, isBeyond) = now.wall.addingReportingOverflow(seconds)
            return UnixTime(isBeyond ? .max : end)
        }
    }

    /// The error for a call that must renew the token during a cool-down. After a refusal it is ``Status/denied``,
    /// because only a change of the settings helps.
    func coolingDown(_ seconds: Int64) -> TokenKeepError {
        let error = notAsked(seconds)
        guard let refusal else { return error }
        return TokenKeepError(.denied, error.message, hint: refusal.hint)
    }

    /// The error for another request to the server during a cool-down.
    func notAsked(_ seconds: Int64) -> TokenKeepError {
        let reason = problem.isEmpty ? SessionNote.asksToWait : problem
        let message = "the server is not asked for \(seconds) s more: \(reason)"
        return TokenKeepError(.unavailable, message, hint: "try again then")
    }

    /// The refusal that the note's problem describes; nil if the problem is no refusal.
    var refusal: Refusal? { Refusal.allCases.first { problem.hasPrefix($0.problem) } }

    /// The kinds of refusals that a note's problem can describe.
    enum Refusal: CaseIterable {
        case client, scope

        /// The part of the request that the server refused, for messages.
        var what: String { self == .client ? "the client" : "the scope or the resource" }
        /// Names the settings that the user should check.
        var hint: String {
            self == .client ? "check client id, secret and scope" : "check scope and resource of the provider's file"
        }
        /// The beginning of the note's problem for this kind of refusal.
        var problem: String { "it refuses \(what): " }
    }
}
