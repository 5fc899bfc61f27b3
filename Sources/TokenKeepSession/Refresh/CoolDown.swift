import TokenKeepCore
import TokenKeepKeys

extension SessionResponse {
    /// The seconds for which the server asks to be left alone, by its header Retry-After; nil if it does not say.
    func wait(serverTime: Int64) -> Int64? {
        header("Retry-After").flatMap { HTTPDate.delay($0, now: serverTime) }.map { min($0, AnswerRules.longestWait) }
    }
}

extension SessionNote {
    /// The beginning of the problem of a note whose server asks to wait.
    static let asksToWait = "it asks to wait"

    /// The beginning and the length of a cool-down.
    package struct Pause: Sendable, Equatable {
        package var since: SessionTime
        package var seconds: Int64

        /// The seconds that are left, by the clock that shows fewer; 0 if none can tell: after another start of the machine,
        /// with a wall clock that was set back.
        func left(at now: SessionTime) -> Int64 {
            // A pause of this start of the machine that begins later is forged, and would never end.
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
            // A person who has the keyfile can forge a note.
            guard (0...AnswerRules.longestWait).contains(seconds) else { throw .malformed("its pause is out of range") }
            return Pause(since: SessionTime(wall: wall, boottime: boottime, boot: boot), seconds: seconds)
        }
    }

    /// Writes an answer without tokens into the note, and the time in which no process asks the server again.
    ///
    /// - Parameter problem: the server's words, or the fault of its answer.
    mutating func coolDown(after failure: AnswerRules.Failure, _ problem: String, now: SessionTime) {
        let seconds = AnswerRules.pause(after: failure, earlierFailures: Int(coolDowns))
        coolDownUntil = now.wall + seconds
        pause = Pause(since: now, seconds: seconds)
        coolDowns = min(coolDowns, 100) + 1
        self.problem = problem
    }

    /// Forgets the failures before an answer with tokens.
    mutating func endCoolDown() {
        coolDownUntil = 0
        pause = nil
        coolDowns = 0
        problem = ""
    }

    /// Seconds until the server may be asked again; nil if it may be asked now.
    func coolDown(at now: SessionTime) -> Int64? {
        // A clock that was set back, however far, must neither lengthen nor end the wait.
        if let pause, pause.since.boot == now.boot {
            let rest = pause.left(at: now)
            return rest > 0 ? rest : nil
        }
        let left = coolDownUntil.subtractingReportingOverflow(now.wall)
        guard !left.overflow, left.partialValue > 0, left.partialValue <= AnswerRules.longestWait else { return nil }
        guard let rest = pause?.left(at: now) else { return left.partialValue }
        return rest > 0 ? min(rest, left.partialValue) : nil
    }

    /// The moment by the wall clock from which the server may be asked again; nil if it may be asked now.
    func coolDownEnd(at now: SessionTime) -> UnixTime? {
        coolDown(at: now).map { seconds in
            let (end, isBeyond) = now.wall.addingReportingOverflow(seconds)
            return UnixTime(isBeyond ? .max : end)
        }
    }

    /// The error of a call that must refresh the token, during a cool-down. A refusal stays a refusal: only a change of
    /// the settings helps.
    func coolingDown(_ seconds: Int64) -> TokenKeepError {
        let error = notAsked(seconds)
        guard let refusal else { return error }
        return TokenKeepError(.denied, error.message, hint: refusal.hint)
    }

    /// The error of any other question to the server during a cool-down.
    func notAsked(_ seconds: Int64) -> TokenKeepError {
        let reason = problem.isEmpty ? SessionNote.asksToWait : problem
        let message = "the server is not asked for \(seconds) s more: \(reason)"
        return TokenKeepError(.unavailable, message, hint: "try again then")
    }

    /// The refusal that the problem tells of; nil for another problem.
    var refusal: Refusal? { Refusal.allCases.first { problem.hasPrefix($0.problem) } }

    /// The refusals that a note's problem tells of.
    enum Refusal: CaseIterable {
        case client, scope

        /// The part of a request that the server refuses.
        var what: String { self == .client ? "the client" : "the scope or the resource" }
        /// The settings that the user can check.
        var hint: String {
            self == .client ? "check client id, secret and scope" : "check scope and resource of the provider's file"
        }
        /// The beginning of the problem of a note.
        var problem: String { "it refuses \(what): " }
    }
}
