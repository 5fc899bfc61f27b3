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
    /// Whether everything could be read.
    private var isWhole = false

    /// What a store holds now, and whether it could be read.
    ///
    /// - Throws: what will not go away.
    static func first(
        of store: Store, service: String?
    ) throws(TokenKeepError) -> (view: ItemView, isRead: Bool) {
        var view = ItemView()
        do throws(TokenKeepError) {
            try view.read(store, service)
            return (view, true)
        } catch {
            switch error.status {
            case .invalid, .unsupported, .forked, .internal: throw error
            default: return (view, false)
            }
        }
    }

    /// Reads the store again, and says what has changed since, and whether it could be read.
    mutating func update(from store: Store, service: String?) -> (changes: [ItemChange], isRead: Bool) {
        do throws(TokenKeepError) {
            return (try read(store, service), true)
        } catch {
            isWhole = false
            return ([.readAgain], false)
        }
    }

    @discardableResult
    private mutating func read(_ store: Store, _ service: String?) throws(TokenKeepError) -> [ItemChange] {
        let deadline = store.quietDeadline
        let now = UnixTime.now
        let listing = try store.listQuietly(service: service, until: deadline)
        var changes: [ItemChange] = []
        var isUncertain = false
        var found: [ItemName: Entry] = [:]
        for item in listing.items where item.module != ItemView.memory {
            let before = entries[item.name]
            let entry = entry(item, before, now, store, deadline)
            found[item.name] = entry
            switch ItemView.compare(before, entry) {
            case .same: break
            // What was hidden need not be new.
            case .different where before != nil || isWhole: changes.append(.saved(item.name))
            case .different, .unknown: isUncertain = true
            }
        }
        for (name, before) in entries.filter({ found[$0.key] == nil }).sorted(by: { $0.key < $1.key }) {
            // A list may miss what moves while it is made; a load looks again.
            do throws(TokenKeepError) {
                let item = try store.loadQuietly(name, until: deadline).details
                found[name] = item.module == ItemView.memory ? before : ItemView.entry(item, now)
                if item.module != ItemView.memory, before.version != 0, item.version != before.version {
                    changes.append(.saved(name))
                }
            } catch {
                if error.status == .notFound { changes.append(.cleared(name)) } else { found[name] = before }
            }
        }
        entries = found
        isWhole = listing.problem == nil
        if deadline.hasPassed { isUncertain = true }  // some of it was not looked at
        return isUncertain ? changes + [.readAgain] : changes
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
