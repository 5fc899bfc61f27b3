/// Decides which unfinished work of earlier calls, or of other programs, a call finishes. Reads no clock, file or
/// network.
///
/// docs/sessions.md has the tables of these rules; `RepairRulesTests` compares both.
enum RepairRules {
    // MARK: A session is read

    /// A repair of a session. The cases are in the order in which reading a session runs them. Each repair checks again
    /// under the change lock whether it is needed.
    enum Repair: CaseIterable {
        /// Save the stash's tokens, or queue them for revocation. Runs before the record is read.
        case stash
        /// Make a record the session's record, although the note describes another one.
        case takeOver
        /// Queue the tokens of an ended session for revocation, and clear its record.
        case ended
        /// Clear items of refresh tokens that no record needs.
        case orphans
    }

    /// Whether the session, as it was read, needs a repair.
    ///
    /// - Parameters:
    ///   - stashed: the action for the tokens in the stash; nil if the stash has no record.
    ///   - belonging: the relation of a stored record that is not the note's session; nil if there is no such record.
    ///   - orphans: the bits of the items that ``orphans(_:live:hasForeign:)`` returns.
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
        /// The record belongs to the note's session.
        case live
        /// The record replaces the note's session: its sign-in was interrupted, or another vault began it.
        case next
        /// Another program wrote the record, so it has no epoch.
        case foreign
        /// The record belongs to an earlier session.
        case dead
    }

    /// Returns the relation of a record to the note.
    ///
    /// - Parameters:
    ///   - vault: the id of the vault in which the record's session began; nil if the record names none.
    ///   - present: the id of this vault; nil if there is no vault.
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

    /// The action for a record that is not the record of the note's session.
    enum TakeOver {
        /// Write a note for the record.
        case note
        /// Give the record an epoch, and begin a session with the record.
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

    /// The action for the tokens in the stash.
    enum Stashed {
        case save
        /// Queue the tokens for revocation, because their session is over.
        case queue
        /// Leave the tokens in the stash, because a logout that is not finished will queue them, or because their
        /// sign-in is being written.
        case leave
    }

    /// Returns the action for the tokens in the stash.
    ///
    /// - Parameter epoch: the epoch of the record in the stash.
    static func stashed(epoch: String?, _ note: SessionNote) -> Stashed {
        if note.state == .signedOut, epoch == note.endedEpoch { return .leave }
        if epoch == note.epoch { return .save }
        return epoch == note.nextEpoch ? .leave : .queue
    }

    // MARK: A session has ended, and its record is still there

    /// The record that is stored under the name of an ended session.
    enum EndedRecord: Equatable {
        /// There is no record, or the item's secret is no session.
        case none
        /// There is a record, with the epoch of its session; nil if another program wrote it.
        case record(epoch: String?)
    }

    /// The actions for the record and the tokens of an ended session.
    struct Ending: Equatable {
        /// Whether to queue the record's tokens for revocation and then clear the record.
        var clears: Bool
        /// Whether to queue tokens for revocation, also those in the stash and in the refresh token's own item. False
        /// after a local logout.
        var queues: Bool
    }

    /// Whether the record is cleared without being read. A local logout sends no token to the server, so it can clear a
    /// locked record.
    static func clearsUnread(_ note: SessionNote, isLater: Bool) -> Bool {
        note.endsLocally && !isLater && note.nextEpoch.isEmpty && note.endedEpoch?.isEmpty == false
    }

    /// Returns the actions for the record and the tokens of an ended session.
    ///
    /// - Parameter isLater: whether the logout was made by an earlier call. Then a record that another program wrote
    ///   after the logout is kept.
    /// - Returns: nil if there is nothing to do, because no ended session is noted, or because the record belongs to an
    ///   interrupted sign-in.
    static func ended(_ record: EndedRecord, _ note: SessionNote, isLater: Bool) -> Ending? {
        guard let ended = note.endedEpoch else { return nil }
        guard case .record(let epoch) = record else {
            // If the ended session had no epoch, another program wrote the item's secret, so the item is not cleared.
            return Ending(clears: !ended.isEmpty && !isLater, queues: !note.endsLocally)
        }
        if let epoch, epoch == note.nextEpoch { return nil }
        return Ending(clears: !isLater || (epoch ?? "") == ended, queues: !note.endsLocally)
    }

    // MARK: An item of a refresh token may be one that no record needs

    /// Returns the refresh token items that no record needs, as bits of ``SessionNote/refreshItems``.
    ///
    /// - Parameters:
    ///   - live: the bit of the item that the live record names, 0 if it names none; nil if there is no live record.
    ///   - hasForeign: whether a record of another sign-in or program is to be taken over.
    static func orphans(_ note: SessionNote, live: UInt8?, hasForeign: Bool) -> UInt8 {
        guard !hasForeign else { return 0 }
        if let live { return note.refreshItems & ~live }
        let isOver = note.epoch.isEmpty || note.state == .signedOut
        return !note.nextEpoch.isEmpty && note.endedEpoch == nil && isOver ? note.refreshItems : 0
    }
}
