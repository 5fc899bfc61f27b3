import TokenKeepCore

extension ItemView {
    /// The result of reading one item: its present state, and its change since the last reading.
    private struct Look {
        let name: ItemName
        /// The item's new entry for the view; nil if the item does not exist.
        let entry: Entry?
        /// The change since the item was last read; nil if the item is unchanged.
        let change: ItemChange?
    }

    /// Reads only the items of some records, and compares them with this view.
    ///
    /// The time of this reading does not depend on the number of items in the store.
    ///
    /// - Parameter records: the file names of all records that may have changed.
    /// - Returns: the changes; nil if only a reading of the whole store can find them. The view is then unchanged.
    mutating func update(
        _ records: [[UInt8]], from store: Store, service: String?, until deadline: Deadline
    ) -> [ItemChange]? {
        // For each item, a list costs less than a load. If many records changed, list the whole store.
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

    /// The watched items of some records; nil if the item of any record is unknown.
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

    /// Loads one item, and compares it with this view; nil if it is unknown whether the item changed.
    private func look(at name: ItemName, _ store: Store, _ deadline: Deadline) -> Look? {
        let before = entries[name]
        // After an incomplete list, it is unknown whether an item that the list lacked is new.
        guard before != nil || isWhole else { return nil }
        do throws(TokenKeepError) {
            // Read the clock first, so that a later reading notices another program's save in the same second.
            let now = UnixTime.now
            let item = try store.withoutPrompts.details(name, until: deadline)
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

/// Finds the watched item of a record by the record's file name.
struct RecordItems {
    enum Found {
        case named(ItemName)
        /// The record belongs to an item that is not watched.
        case unwatched
        /// The record does not exist, and no item of the view has this record.
        case absent
        case unreadable
    }

    private var names: [[UInt8]: ItemName] = [:]
    /// Whether ``names`` contains the record of every item in the view.
    private var isComplete = false

    /// Computes the file names of all listed items, unless there is no vault.
    mutating func complete(with entries: [ItemName: ItemView.Entry], _ store: Store) throws(TokenKeepError) {
        guard let fileName = try store.records.fileNames() else { return }
        names.reserveCapacity(entries.count)
        for name in entries.keys { names[fileName(name)] = name }
        isComplete = true
    }

    /// Finds the item whose record has the file name `record`.
    mutating func item(
        ofRecord record: [UInt8], _ store: Store, _ service: String?, _ entries: [ItemName: ItemView.Entry]
    ) -> Found {
        if let name = names[record] { return .named(name) }
        do throws(TokenKeepError) {
            if let stored = try store.records.itemName(ofRecord: record) {
                // The record holds the removal of a whole service, which concerns an unknown number of items.
                guard stored.removedService == nil else { return .unreadable }
                guard stored.isIn(namespace: store.namespace, service: service) else { return .unwatched }
                names[record] = stored
                return .named(stored)
            }
            // A cleared item has no record any more that names it.
            if !isComplete { try complete(with: entries, store) }
            return names[record].map(Found.named) ?? .absent
        } catch {
            return .unreadable
        }
    }
}
