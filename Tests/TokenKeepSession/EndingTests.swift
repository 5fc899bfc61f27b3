import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepRecords

@testable import TokenKeepSession

/// The end of a session, and the pointer to the active account.
struct EndingTests {
    private let service = "api.example.com"
    private let world = SessionWorld()
    private let sessions: Sessions
    private let session: SessionEngine

    init() throws {
        session = try world.signedIn()
        sessions = try Sessions(world.store())
    }

    private var active: String? { try? sessions.active(of: service) }

    /// A process that is killed between the two changes of a logout leaves no pointer to a session that is gone.
    @Test func anAccountIsInactiveBeforeItsSessionEnds() throws {
        _ = try sessions.ending(session.storage, session.begin()) { (_) throws(TokenKeepError) -> Bool? in
            #expect(active == nil)
            return true
        }
        #expect(active == nil)
    }

    @Test func whatDidNotEndIsActiveAgain() throws {
        let ended = try sessions.ending(session.storage, session.begin()) { (_) throws(TokenKeepError) -> Bool? in nil }
        #expect(ended == nil && active == "ann")
    }

    /// A cancelled logout must not leave a live session that no pointer names.
    @Test func aCancelledEndMakesTheAccountActiveAgain() throws {
        let cancellation = Cancellation()
        let call = CallContext(
            deadline: Deadline(milliseconds: Patience.milliseconds, cancellation: cancellation))
        #expect(throws: TokenKeepError(.cancelled, "")) {
            try sessions.ending(session.storage, call) { (_) throws(TokenKeepError) -> Bool? in
                cancellation.cancel()
                throw TokenKeepError(.cancelled, "the call was cancelled")
            }
        }
        #expect(active == "ann")
    }

    /// Whoever waits for the change lock has changed nothing yet.
    @Test func thePointerIsChangedUnderTheChangeLock() throws {
        let held = try SessionTransaction(session.storage, session.begin())
        var isReached = false
        #expect(throws: TokenKeepError(.busy, "")) {
            try sessions.ending(session.storage, .passed) { (_) throws(TokenKeepError) -> Bool? in
                isReached = true
                return true
            }
        }
        #expect(!isReached && active == "ann")
        _ = try held.facts()
    }

    @Test func anEndThatFailsAfterTheNoteLeavesTheAccountInactive() throws {
        #expect(throws: TokenKeepError(.io, "")) {
            try sessions.ending(session.storage, session.begin()) { (transaction) throws(TokenKeepError) -> Bool? in
                try transaction.apply(.guestOver)
                throw TokenKeepError(.io, "full")
            }
        }
        #expect(active == nil)
        #expect(try session.info().state == .signedOut)
    }

    /// A process that was stopped while it changed the pointer.
    @Test func aHeldPointerHoldsUpNoLogout() throws {
        let files = SessionFiles(try world.store().records)
        try files.change(.active, of: sessions.place(of: service), session.begin()) { _ throws(TokenKeepError) in
            let call = CallContext.patient
            let ended = try sessions.ending(session.storage, call) { (transaction) throws(TokenKeepError) -> Bool? in
                #expect(!call.deadline.hasPassed)
                return try transaction.apply(.signedOut(isLocal: true, .logout)) != nil
            }
            #expect(ended == true)
            return nil
        }
        #expect(try session.info().state == .signedOut)
    }
}
