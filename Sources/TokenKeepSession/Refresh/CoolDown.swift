import TokenKeepCore
import TokenKeepKeys

extension SessionResponse {
    /// The wait that the server's header Retry-After demands, in seconds, at most a day; nil if the header is missing
    /// or unreadable.
    func wait(serverTime: Int64) -> Int64? {
        header("Retry-After").flatMap { HTTPDate.delay($0, now: serverTime) }.map { min($0, AnswerRules.longestWait) }
    }
}

extension SessionNote {
    /// The text with which ``problem`` begins if the server demanded a wait.
    static let asksToWait = "it asks to wait"

    /// A cool-down: the time at which it began, and its length in seconds. No process asks the server during it.
    package struct Pause: Sendable, Equatable {
        package var since: SessionTime
        package var seconds: Int64

        /// The seconds left, by the clock on which more time has passed. 0 if both clocks are useless: the machine was
        /// restarted, and its wall clock was set back.
        func left(at now: SessionTime) -> Int64 {
            // A pause that begins in the future was forged, or the wall clock was set back. It might last very long, so
            // it is ignored.
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
            // The range is checked, because anybody with the keyfile can forge a note and so demand an endless pause.
            guard (0...AnswerRules.longestWait).contains(seconds) else { throw .malformed("its pause is out of range") }
            return Pause(since: SessionTime(wall: wall, boottime: boottime, boot: boot), seconds: seconds)
        }
    }

    /// Records a failed answer, and begins a pause in which no process asks the server again.
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
        // The clock that counts from the machine's start decides alone if it can, so that setting the wall clock
        // neither lengthens nor ends the pause.
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

    /// The error for a call that would have to renew the token during a cool-down. After a refusal of client or scope
    /// it is ``Status/denied``, because only other settings help.
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

    /// The kind of refusal that ``problem`` describes; nil if it describes no refusal.
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
        /// The text with which ``problem`` begins after this kind of refusal.
        var problem: String { "it refuses \(what): " }
    }
}
