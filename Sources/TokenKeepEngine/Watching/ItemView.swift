import TokenKeepCore

/// The items of a store when a watch last read them. The watch compares later readings with this view.
struct ItemView {
    struct Entry {
        let module: String
        let modifiedAt: UnixTime?
        /// The item's version; 0 if the version could not be read.
        var version: UInt64
        /// Whether every later save is sure to give the item another time.
        ///
        /// Times are whole seconds, so that two saves in the same second get the same time.
        let isSettled: Bool
    }

    /// The pause after a failed attempt to apply a pending change, in milliseconds.
    ///
    /// Each attempt signals a change, which would otherwise lead to the next attempt at once.
    private static let drainAgain: UInt32 = 30_000
    private var drainAgainAt: Deadline?

    /// The module of memory-only items. A watch ignores them, because no other process can change them.
    static let memory = "memory"

    var entries: [ItemName: Entry] = [:]
    var names = RecordItems()
    /// Whether the last list contained the items of all modules.
    private(set) var isWhole = false
    /// Whether an item could not be read, so that the watch may miss a change or the removal of the item.
    private var hidesSome = true

    /// The reason why a watch reads the store again.
    enum Occasion {
        /// The reason is that the time between two regular readings has passed.
        case clock
        /// The reason is a module's signal: an item may have changed, or the module can be reached again.
        case module
        /// The reason is a signal by a process that uses TokenKeep, or that the vault was moved.
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
    /// - Throws: only a failure that every later attempt would meet too. Any other failure is the result's `problem`.
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

    /// Reads the store again and compares its items with this view.
    ///
    /// If an item cannot be read now or could not before, its changes are not visible. A signalled change is then also
    /// reported as ``ItemChange/listAgain``. A regular reading does not report this: if a module is gone for good,
    /// every reading would report it.
    ///
    /// - Returns: the changes since the last reading, and whether the store could be read.
    mutating func update(
        from store: Store, service: String?, on occasion: Occasion, until deadline: Deadline
    ) -> (changes: [ItemChange], isRead: Bool) {
        let hidSome = hidesSome
        do throws(TokenKeepError) {
            let reading = try read(store, service, isFirst: false, deadline)
            let mayHaveMissed =
                switch occasion {
                case .clock: false
                // The outage of a module changes none of its items. But its items may have changed when the module
                // returns.
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
        /// Whether some item may have changed, but it is unknown which.
        var isUncertain = false
        var problem: TokenKeepError?
    }

    private mutating func read(
        _ store: Store, _ service: String?, isFirst: Bool, _ deadline: Deadline
    ) throws(TokenKeepError) -> Reading {
        let now = UnixTime.now
        if !isFirst, drainAgainAt?.hasPassed ?? true {
            drainAgainAt =
                try store.drainQuietly(until: deadline)
                ? nil : Deadline(milliseconds: ItemView.drainAgain)
        }
        let listing = try store.listQuietly(service: service, until: deadline)
        var reading = Reading(problem: listing.problem)
        var found: [ItemName: Entry] = [:]
        for item in listing.items where item.module != ItemView.memory {
            let before = entries[item.name]
            let entry = entry(item, before, now, store, deadline)
            found[item.name] = entry
            switch ItemView.compare(before, entry) {
            case .same: break
            // If the last list was incomplete, it may have lacked this item. So the item need not be new.
            case .different where before != nil || isWhole: reading.changes.append(.saved(item.name))
            case .different, .unknown: reading.isUncertain = true
            }
        }
        let isAllLookedAt = look(forWhatIsNotListed: &found, &reading.changes, now, store, deadline)
        entries = found
        names = RecordItems()
        isWhole = listing.problem == nil
        hidesSome = !isWhole || !isAllLookedAt || deadline.hasPassed
        return reading
    }

    /// Loads each item that the new list lacks. A list can miss an item that moves between modules meanwhile.
    ///
    /// - Returns: false if any of these items could not be read.
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

    /// Makes the entry of a listed item, with the item's version, for the watch's view (the items as it last read
    /// them).
    ///
    /// A list contains no versions of items in modules other than the vault. Such an item is loaded if its value may
    /// have changed.
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
        // If the versions are unknown, equal times prove an unchanged item only if a later save would have had another
        // time.
        let isSame = before.module == now.module && before.modifiedAt == now.modifiedAt && before.isSettled
        return isSame ? .same : .unknown
    }
}
