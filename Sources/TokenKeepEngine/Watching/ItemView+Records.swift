import TokenKeepCore

extension ItemView {
    /// An item's present entry, and its difference from the view.
    private struct Look {
        let name: ItemName
        /// nil if there is no item.
        let entry: Entry?
        /// nil if the item is unchanged.
        let change: ItemChange?
    }

    /// Looks at the items of some records alone and compares them with this view. The time does not depend on the
    /// number of items.
    ///
    /// - Parameter records: the file names of all records that may have changed.
    /// - Returns: the changes; nil if only a reading of the whole store shows them. The view is unchanged then.
    mutating func update(
        _ records: [[UInt8]], from store: Store, service: String?, until deadline: Deadline
    ) -> [ItemChange]? {
        // A list costs less per item than a load.
        guard records.count <= 16 + entries.count / 16, let changed = items(of: records, store, service) else {
            return nil
        }
        var looks: [Look] = []
        for name in changed.sorted() {
            guard let look = look(at: name, store, deadline) else { return nil }
            looks.append(look)
        }
        for look in looks { entries[look.name] = look.entry }
        return looks.compactMap(\.change)
    }

    /// The watched items of some records; nil if one is unknown.
    private mutating func items(of records: [[UInt8]], _ store: Store, _ service: String?) -> [ItemName]? {
        var items: [ItemName] = []
        for record in records {
            switch names.item(ofRecord: record, store, service, entries) {
            case .unreadable: return nil
            case .absent where !isWhole || store.keepsItemsElsewhere: return nil
            case .absent, .unwatched: continue
            case .named(let name): items.append(name)
            }
        }
        return items
    }

    /// Loads one item and compares it with its entry; nil if that does not show whether the item was changed.
    private func look(at name: ItemName, _ store: Store, _ deadline: Deadline) -> Look? {
        let before = entries[name]
        // An item that appears after an incomplete list may be old; a cleared one may have been hidden.
        guard before != nil || isWhole else { return nil }
        do throws(TokenKeepError) {
            // Before the load: a later save by another program in the same second must not count as seen.
            let now = UnixTime.now
            let item = try store.detailsQuietly(name, until: deadline)
            guard item.module != ItemView.memory else { return Look(name: name, entry: before, change: nil) }
            let entry = ItemView.entry(item, now)
            switch ItemView.compare(before, entry) {
            case .same: return Look(name: name, entry: entry, change: nil)
            case .different: return Look(name: name, entry: entry, change: .saved(name))
            case .unknown: return nil
            }
        } catch {
            guard error.status == .notFound else { return nil }
            return Look(name: name, entry: nil, change: before == nil ? nil : .cleared(name))
        }
    }
}

/// The items of a watch by the file names of their records, as far as they were needed since the last list.
struct RecordItems {
    enum Found {
        case named(ItemName)
        /// The record is of an item that is not watched.
        case unwatched
        /// There is no such record, and no item of the view has such a record.
        case absent
        case unreadable
    }

    private var names: [[UInt8]: ItemName] = [:]
    /// Whether every item of the view is in ``names``.
    private var isComplete = false

    /// The item whose record has a file name.
    mutating func item(
        ofRecord record: [UInt8], _ store: Store, _ service: String?, _ entries: [ItemName: ItemView.Entry]
    ) -> Found {
        if let name = names[record] { return .named(name) }
        do throws(TokenKeepError) {
            if let stored = try store.records.itemName(ofRecord: record) {
                // The removal of a service may concern any item.
                guard stored.removedService == nil else { return .unreadable }
                guard stored.isIn(namespace: store.namespace, service: service) else { return .unwatched }
                names[record] = stored
                return .named(stored)
            }
            // The record of a cleared item is gone: only the view has the item's name.
            if !isComplete, let fileName = try store.records.fileNames() {
                for name in entries.keys { names[fileName(name)] = name }
                isComplete = true
            }
            return names[record].map(Found.named) ?? .absent
        } catch {
            return .unreadable
        }
    }
}
