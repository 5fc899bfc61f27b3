import TokenKeepCore

/// The items of a store as last read, for a watch to compare with.
struct ItemView {
    struct Entry {
        let module: String
        let modifiedAt: UnixTime?
        /// The item's version; 0 if the version could not be read.
        var version: UInt64
        /// Whether a later save would have a later time. Times are whole seconds, so a recent time may repeat.
        let isSettled: Bool
    }

    /// The time until which nothing is drained, after a drain that left something: an attempt signals a change, which
    /// would lead to the next attempt at once.
    private static let drainAgain: UInt32 = 30_000
    private var drainAgainAt: Deadline?

    /// The module of memory-only items, which are not watched: no other process sees them.
    static let memory = "memory"

    var entries: [ItemName: Entry] = [:]
    var names = RecordItems()
    /// Whether the list was complete.
    private(set) var isWhole = false
    /// Whether an item could not be read, so that this view may miss a change or removal.
    private var hidesSome = true

    /// The reason why the store is read again.
    enum Occasion {
        /// The time between regular readings has passed.
        case clock
        /// A module signalled a possible change, or its return.
        case module
        /// A process of TokenKeep signalled a change, or the vault was moved.
        case signal
    }

    /// The result of the first reading.
    struct Beginning {
        let view: ItemView
        let isRead: Bool
        /// The failure that left the reading incomplete; nil if everything was read.
        let problem: TokenKeepError?
    }

    /// Reads the present items of a store.
    ///
    /// - Throws: a failure that another attempt cannot avoid.
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

    /// Reads the store again and compares it with this view.
    ///
    /// A change of a hidden item is not visible. So a signalled change is reported as ``ItemChange/listAgain`` if an
    /// item is hidden now or was before. A reading by the clock reports no such change: a module that is gone for good
    /// changes nothing.
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
                // An outage is no change. The module's return may bring changes.
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
        /// Whether something changed whose item is unknown.
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
            // An item that appears after an incomplete list may be old.
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

    /// Loads each item that the list lacks, because a list can miss an item that moves during the listing.
    ///
    /// - Returns: whether every such item could be loaded.
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

    /// The entry of a listed item, with its version.
    ///
    /// A list gives no versions of another module's items. So the item is loaded if its value may have changed.
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
        // Without versions, equal times prove that the item is unchanged only if a later save would have a later time.
        let isSame = before.module == now.module && before.modifiedAt == now.modifiedAt && before.isSettled
        return isSame ? .same : .unknown
    }
}
