import TokenKeepCore

/// The items of a store as they were when last read: what a watch compares with.
struct ItemView {
    private struct Entry {
        let module: String
        let modifiedAt: UnixTime?
        /// 0 where it could not be read.
        var version: UInt64
        /// Whether a later save would have another time: times are whole seconds.
        let isSettled: Bool
    }

    /// Whose items are not watched: no other process sees them.
    private static let memory = "memory"

    private var entries: [ItemName: Entry] = [:]
    /// Whether the list was complete.
    private var isWhole = false
    /// Whether an item could not be looked at: it may change, or go, without this view's seeing it.
    private var hidesSome = true

    /// Why the store is read again.
    enum Occasion {
        /// A while has passed.
        case clock
        /// A module told that something may have changed, or that it is back.
        case module
        /// A process of TokenKeep told that it has changed something, or the vault was moved.
        case signal
    }

    /// What came of a first reading.
    struct Beginning {
        let view: ItemView
        let isRead: Bool
        /// Why it could not be read, or not all of it.
        let problem: TokenKeepError?
    }

    /// What a store holds now.
    ///
    /// - Throws: what will not go away.
    static func first(
        of store: Store, service: String?, until deadline: Deadline
    ) throws(TokenKeepError) -> Beginning {
        var view = ItemView()
        do throws(TokenKeepError) {
            let problem = try view.read(store, service, deadline).problem
            return Beginning(view: view, isRead: true, problem: problem)
        } catch {
            switch error.status {
            case .invalid, .unsupported, .forked, .internal: throw error
            default: return Beginning(view: view, isRead: false, problem: error)
            }
        }
    }

    /// Reads the store again, and says what has changed since, and whether it could be read.
    ///
    /// A change of what is hidden shows nowhere: where one was told of, and something is or was hidden,
    /// ``ItemChange/listAgain`` covers it. The clock tells of no change: a module that is gone for good is no news.
    mutating func update(
        from store: Store, service: String?, on occasion: Occasion, until deadline: Deadline
    ) -> (changes: [ItemChange], isRead: Bool) {
        let hidSome = hidesSome
        do throws(TokenKeepError) {
            let reading = try read(store, service, deadline)
            let mayHaveMissed =
                switch occasion {
                case .clock: false
                // Its outage is no change; what it tells when it is back may be.
                case .module: hidSome && !hidesSome
                case .signal: hidSome || hidesSome
                }
            return (reading.isUncertain || mayHaveMissed ? reading.changes + [.listAgain] : reading.changes, true)
        } catch {
            isWhole = false
            hidesSome = true
            return ([.listAgain], false)
        }
    }

    private struct Reading {
        var changes: [ItemChange] = []
        /// Whether something changed that cannot be told by name.
        var isUncertain = false
        var problem: TokenKeepError?
    }

    private mutating func read(
        _ store: Store, _ service: String?, _ deadline: Deadline
    ) throws(TokenKeepError) -> Reading {
        let now = UnixTime.now
        let listing = try store.listQuietly(service: service, until: deadline)
        var reading = Reading(problem: listing.problem)
        var found: [ItemName: Entry] = [:]
        for item in listing.items where item.module != ItemView.memory {
            let before = entries[item.name]
            let entry = entry(item, before, now, store, deadline)
            found[item.name] = entry
            switch ItemView.compare(before, entry) {
            case .same: break
            // What was hidden need not be new.
            case .different where before != nil || isWhole: reading.changes.append(.saved(item.name))
            case .different, .unknown: reading.isUncertain = true
            }
        }
        let isAllLookedAt = look(forWhatIsNotListed: &found, &reading.changes, now, store, deadline)
        entries = found
        isWhole = listing.problem == nil
        hidesSome = !isWhole || !isAllLookedAt || deadline.hasPassed
        return reading
    }

    /// A list may miss what moves while it is made; a load looks again. Says whether all could be looked at.
    private func look(
        forWhatIsNotListed found: inout [ItemName: Entry], _ changes: inout [ItemChange], _ now: UnixTime,
        _ store: Store, _ deadline: Deadline
    ) -> Bool {
        var isAllLookedAt = true
        for (name, before) in entries.filter({ found[$0.key] == nil }).sorted(by: { $0.key < $1.key }) {
            do throws(TokenKeepError) {
                let item = try store.loadQuietly(name, until: deadline).details
                found[name] = item.module == ItemView.memory ? before : ItemView.entry(item, now)
                if item.module != ItemView.memory, before.version != 0, item.version != before.version {
                    changes.append(.saved(name))
                }
            } catch {
                if error.status == .notFound {
                    changes.append(.cleared(name))
                } else {
                    found[name] = before
                    isAllLookedAt = false
                }
            }
        }
        return isAllLookedAt
    }

    /// A list does not know the versions of what another module holds: they are asked for where the item may be another.
    private func entry(
        _ item: ItemDetails, _ before: Entry?, _ now: UnixTime, _ store: Store, _ deadline: Deadline
    ) -> Entry {
        var entry = ItemView.entry(item, now)
        guard entry.version == 0 else { return entry }
        if let before, before.isSettled, before.module == item.module, before.modifiedAt == item.modifiedAt {
            entry.version = before.version
        } else if let loaded = try? store.loadQuietly(item.name, until: deadline) {
            entry.version = loaded.details.version
        }
        return entry
    }

    private static func entry(_ item: ItemDetails, _ now: UnixTime) -> Entry {
        let isSettled = item.modifiedAt.map { $0.rawValue < now.rawValue - 1 } ?? false
        return Entry(
            module: item.module, modifiedAt: item.modifiedAt, version: item.version, isSettled: isSettled)
    }

    private enum Comparison {
        case same, different, unknown
    }

    private static func compare(_ before: Entry?, _ now: Entry) -> Comparison {
        guard let before else { return .different }
        if before.version != 0, now.version != 0 { return before.version == now.version ? .same : .different }
        // Without versions only a time that stands for itself tells something.
        let isSame = before.module == now.module && before.modifiedAt == now.modifiedAt && before.isSettled
        return isSame ? .same : .unknown
    }
}
