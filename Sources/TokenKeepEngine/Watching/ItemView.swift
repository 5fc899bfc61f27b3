import TokenKeepCore

/// The items of a store as a watch last read them. The watch compares the next reading with this view.
struct ItemView {
    struct Entry {
        let module: String
        let modifiedAt: UnixTime?
        /// The item's version; 0 if it could not be read.
        var version: UInt64
        /// Whether each later save certainly gives the item another modification time.
        ///
        /// Two saves within one second get the same time, because times are whole seconds.
        let isSettled: Bool
    }

    /// The minimum time, in milliseconds, between a failed drain and the next attempt.
    ///
    /// Each attempt to drain signals a change. Without the pause, this signal would make the watch drain again at once.
    private static let drainAgain: UInt32 = 30_000
    private var drainAgainAt: Deadline?

    /// The name of the module of memory-only items. A watch ignores these items, because no other process can change
    /// them.
    static let memory = "memory"

    var entries: [ItemName: Entry] = [:]
    var names = RecordItems()
    /// Whether the last list contained the items of every module.
    private(set) var isWhole = false
    /// Whether an item could not be read, so that a change of this item may be missed.
    private var hidesSome = true

    /// The reason why a watch reads the store again.
    enum Occasion {
        /// The interval between two regular readings has passed.
        case clock
        /// A module signalled that an item may have changed, or that the module is available again.
        case module
        /// A process that uses TokenKeep signalled a change, or the vault was moved.
        case signal
    }

    /// The result of a watch's first reading of the store.
    struct Beginning {
        let view: ItemView
        let isRead: Bool
        /// The failure that left the first reading incomplete; nil if everything was read.
        let problem: TokenKeepError?
    }

    /// Reads a store for the first time.
    ///
    /// - Throws: a failure that every later reading would also meet. Any other failure is the result's `problem`.
    static func first(
        of store: Store, service: String?, until deadline: Deadline
    ) throws(TokenKeepError) -> Beginning {
        var view = ItemView()
        do throws(TokenKeepError) {
            let problem = try view.read(store, service, isFirst: true, deadline).problem
            return Beginning(view: view, isRead: true, problem: problem)
        } catch {
            switch error.status {
            case .invalid, .unsupported, .forked, .internal: throw error
            default: return Beginning(view: view, isRead: false, problem: error)
            }
        }
    }

    /// Reads the store again, and compares the store's items with this view.
    ///
    /// Changes of an item that cannot be read are not seen. If such a change is possible, ``ItemChange/listAgain`` is
    /// reported after a signal, and when the items of a module can be read again. A regular reading does not report it
    /// for this reason: while a module is absent for good, every regular reading would report it.
    ///
    /// - Returns: the changes since the last reading, and whether the store was readable.
    mutating func update(
        from store: Store, service: String?, on occasion: Occasion, until deadline: Deadline
    ) -> (changes: [ItemChange], isRead: Bool) {
        let hidSome = hidesSome
        do throws(TokenKeepError) {
            let reading = try read(store, service, isFirst: false, deadline)
            let mayHaveMissed =
                switch occasion {
                case .clock: false
                // An outage changes no item, but the module's items may have changed by the time it is available again.
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
        /// Whether the reading shows that some item may have changed, but not which one.
        var isUncertain = false
        var problem: TokenKeepError?
    }

    private mutating func read(
        _ store: Store, _ service: String?, isFirst: Bool, _ deadline: Deadline
    ) throws(TokenKeepError) -> Reading {
        let now = UnixTime.now
        if !isFirst, drainAgainAt?.hasPassed ?? true {
            drainAgainAt =
                try store.withoutPrompts.drain(until: deadline)
                ? nil : Deadline(milliseconds: ItemView.drainAgain)
        }
        let listing = try store.withoutPrompts.list(service: service, until: deadline)
        var reading = Reading(problem: listing.problem)
        var found: [ItemName: Entry] = [:]
        for item in listing.items where item.module != ItemView.memory {
            let before = entries[item.name]
            let entry = entry(item, before, now, store, deadline)
            found[item.name] = entry
            switch ItemView.compare(before, entry) {
            case .same: break
            // If the last list was incomplete, an item that is missing from the view is not necessarily new.
            case .different where before != nil || isWhole: reading.changes.append(.saved(item.name))
            case .different, .unknown: reading.isUncertain = true
            }
        }
        let isAllLookedAt = look(forWhatIsNotListed: &found, &reading.changes, now, store, deadline)
        entries = found
        names = RecordItems()
        // Compute the file names now, because no record contains the name of an item after the item was cleared.
        try? names.complete(with: entries, store)
        isWhole = listing.problem == nil
        hidesSome = !isWhole || !isAllLookedAt || deadline.hasPassed
        return reading
    }

    /// Loads each known item that the new list lacks, because a list can miss an item that moves between modules
    /// meanwhile.
    ///
    /// - Returns: false if any of these items could not be read.
    private func look(
        forWhatIsNotListed found: inout [ItemName: Entry], _ changes: inout [ItemChange], _ now: UnixTime,
        _ store: Store, _ deadline: Deadline
    ) -> Bool {
        var isAllLookedAt = true
        for (name, before) in entries.filter({ found[$0.key] == nil }).sorted(by: { $0.key < $1.key }) {
            do throws(TokenKeepError) {
                let item = try store.withoutPrompts.loadUndrained(name, until: deadline).details
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

    /// Makes the entry of a listed item, with the item's version.
    ///
    /// A list contains versions only of the vault's items. Another item is loaded if its value may have changed.
    private func entry(
        _ item: ItemDetails, _ before: Entry?, _ now: UnixTime, _ store: Store, _ deadline: Deadline
    ) -> Entry {
        var entry = ItemView.entry(item, now)
        guard entry.version == 0 else { return entry }
        if let before, before.isSettled, before.module == item.module, before.modifiedAt == item.modifiedAt {
            entry.version = before.version
        } else if let loaded = try? store.withoutPrompts.loadUndrained(item.name, until: deadline) {
            entry.version = loaded.details.version
        }
        return entry
    }

    static func entry(_ item: ItemDetails, _ now: UnixTime) -> Entry {
        let isSettled = item.modifiedAt.map { $0.rawValue < now.rawValue - 1 } ?? false
        return Entry(
            module: item.module, modifiedAt: item.modifiedAt, version: item.version, isSettled: isSettled)
    }

    enum Comparison {
        case same, different, unknown
    }

    static func compare(_ before: Entry?, _ now: Entry) -> Comparison {
        guard let before else { return .different }
        if before.version != 0, now.version != 0 { return before.version == now.version ? .same : .different }
        // If the versions are unknown, equal times prove an unchanged item only if each later save gets another time.
        let isSame = before.module == now.module && before.modifiedAt == now.modifiedAt && before.isSettled
        return isSame ? .same : .unknown
    }
}
