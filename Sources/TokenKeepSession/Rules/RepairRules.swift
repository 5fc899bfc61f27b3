/// Decides what a call finishes that earlier calls, or other programs, left unfinished. Reads no clock, no file and no
/// network.
///
/// docs/sessions.md has the tables of these rules; `RepairRulesTests` compares them.
enum RepairRules {
    // MARK: A session is read

    /// A repair, in the order in which a reading carries them out. Under the change lock, the rules below decide again.
    enum Repair: CaseIterable {
        /// Save the tokens of the stash, or queue them for revocation. Comes before the record is read.
        case stash
        /// Let a record that the note does not describe be the session.
        case takeOver
        /// Queue the tokens of an ended session, and clear its record.
        case ended
        /// Clear items of refresh tokens that no record needs.
        case orphans
    }

    /// Whether a reading found a reason for a repair.
    ///
    /// - Parameters:
    ///   - stashed: nil if the stash has no record.
    ///   - belonging: nil without a record that is not the session's.
    ///   - orphans: the items of ``orphans(_:live:hasForeign:)``.
    static func isDue(
        _ repair: Repair, _ note: SessionNote, stashed: Stashed?, belonging: Belonging?, orphans: UInt8
    ) -> Bool {
        switch repair {
        case .stash: stashed == .save || stashed == .queue
        case .takeOver: belonging.map { takeOver($0, note) != .leave } ?? false
        case .ended: note.state == .signedOut && note.endedEpoch != nil
        case .orphans: orphans != 0
        }
    }

    // MARK: A record is read

    /// The relation of a record to the note.
    enum Belonging {
        /// The record is that of the note's session.
        case live
        /// The record takes the place of the note's session: a sign-in that was cut short, or of another vault.
        case next
        /// Another program wrote the record, which has no epoch.
        case foreign
        /// The record is of an earlier session.
        case dead
    }

    /// - Parameters:
    ///   - vault: the id of the vault with which the record's session began; nil if the record names none.
    ///   - present: the id of this vault; nil if there is none.
    static func belonging(
        ofEpoch epoch: String?, vault: String?, to note: SessionNote, in present: String?
    ) -> Belonging {
        guard let epoch else { return .foreign }
        if epoch == note.epoch { return .live }
        let isUnknown = note.epoch.isEmpty && note.nextEpoch.isEmpty
        if epoch == note.nextEpoch || isUnknown { return .next }
        guard let vault, let present, vault != present, note.state != .signedOut, epoch != note.endedEpoch else {
            return .dead
        }
        return .next
    }

    /// The treatment of a record that is not the session's.
    enum TakeOver {
        /// Write a note for the record.
        case note
        /// Begin the record as a session: give it an epoch.
        case begin
        case leave
    }

    static func takeOver(_ belonging: Belonging, _ note: SessionNote) -> TakeOver {
        switch belonging {
        case .next: .note
        case .foreign: note.state == .signedOut ? .leave : .begin
        case .live, .dead: .leave
        }
    }

    // MARK: Tokens are in the stash

    /// The treatment of the stash's tokens.
    enum Stashed {
        case save
        /// Queue the tokens for revocation: their session is over.
        case queue
        /// The tokens stay in the stash: ``ended(_:_:isLater:)`` queues them, or their sign-in is being written.
        case leave
    }

    /// The treatment of the tokens in the stash.
    ///
    /// - Parameter epoch: the epoch of the tokens in the stash.
    static func stashed(epoch: String?, _ note: SessionNote) -> Stashed {
        if note.state == .signedOut, epoch == note.endedEpoch { return .leave }
        if epoch == note.epoch { return .save }
        return epoch == note.nextEpoch ? .leave : .queue
    }

    // MARK: A session has ended, and its record is still there

    /// The record in the place of an ended session.
    enum EndedRecord: Equatable {
        /// No record, or a secret that is no session.
        case none
        /// - Parameter epoch: nil if another program wrote the record.
        case record(epoch: String?)
    }

    /// The treatment of the record of an ended session.
    struct Ending: Equatable {
        /// Whether the record's tokens are queued, and the record is cleared.
        var clears: Bool
        /// Whether tokens that wait elsewhere (stash, refresh token's own item) are queued.
        var queues: Bool
    }

    /// Whether the record is cleared without being read: it may be locked, and nothing of it is to be sent.
    static func clearsUnread(_ note: SessionNote, isLater: Bool) -> Bool {
        note.endsLocally && !isLater && note.nextEpoch.isEmpty && note.endedEpoch?.isEmpty == false
    }

    /// - Parameter isLater: whether the logout itself is over: a record that another program wrote since stays.
    /// - Returns: nil if nothing is to be done: the record is that of a sign-in that was cut short.
    static func ended(_ record: EndedRecord, _ note: SessionNote, isLater: Bool) -> Ending? {
        guard let ended = note.endedEpoch else { return nil }
        guard case .record(let epoch) = record else {
            // A secret without a session before or in it is another program's.
            return Ending(clears: !ended.isEmpty && !isLater, queues: !note.endsLocally)
        }
        if let epoch, epoch == note.nextEpoch { return nil }
        return Ending(clears: !isLater || (epoch ?? "") == ended, queues: !note.endsLocally)
    }

    // MARK: A refresh token's own item may be one that no record needs

    /// The items that no record needs, as bits of ``SessionNote/refreshItems``.
    ///
    /// - Parameters:
    ///   - live: the bit of the item that the live record names, 0 if it names none; nil without a live record.
    ///   - hasForeign: whether a record is to be taken over.
    static func orphans(_ note: SessionNote, live: UInt8?, hasForeign: Bool) -> UInt8 {
        guard !hasForeign else { return 0 }
        if let live { return note.refreshItems & ~live }
        let isOver = note.epoch.isEmpty || note.state == .signedOut
        return !note.nextEpoch.isEmpty && note.endedEpoch == nil && isOver ? note.refreshItems : 0
    }
}
