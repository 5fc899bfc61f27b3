import TokenKeepCore

extension ItemView {
    /// The result of reading one item: its present state, and the change since it was last read.
    private struct Look {
        let name: ItemName
        /// The item's new entry for the view; nil if the item does not exist.
        let entry: Entry?
        /// The change since the item was last read; nil if the item is unchanged.
        let change: ItemChange?
    }

    /// Reads only the items of some records, and compares them with this view.
    ///
    /// The time depends on the number of these records, not on the number of the store's items.
    ///
    /// - Parameter records: the file names of all records that may have changed.
    /// - Returns: the changes; nil, with the view unchanged, if only a reading of the whole store can find them.
    mutating func update(
        _ records: [[UInt8]], from store: Store, service: String?, until deadline: Deadline
    ) -> [ItemChange]? {
        // A list costs less for each item than a load, so the whole store is listed if many records have changed.
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

    /// The watched items of some records; nil if it is unknown which item a record belongs to.
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

    /// Reads one item, and compares it with this view; nil if it is unknown whether the item has changed.
    private func look(at name: ItemName, _ store: Store, _ deadline: Deadline) -> Look? {
        let before = entries[name]
        // If the last list was incomplete, an item that is missing from the view is not necessarily new.
        guard before != nil || isWhole else { return nil }
        do throws(TokenKeepError) {
            // Read the clock before the item, so that a later reading notices another program's save in the same
            // second.
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

/// Finds the watched item that a record's file name belongs to.
struct RecordItems {
    enum Found {
        case named(ItemName)
        /// The record belongs to an item that is not watched.
        case unwatched
        /// The record does not exist, and belongs to no item of the view.
        case absent
        case unreadable
    }

    private var names: [[UInt8]: ItemName] = [:]
    /// Whether ``names`` contains the record of each item in the view.
    private var isComplete = false

    /// Computes the file names of all listed items. Does nothing if there is no vault.
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
                // The record is the pending removal of a whole service, so it is unknown which items have changed.
                guard stored.removedService == nil else { return .unreadable }
                guard stored.isIn(namespace: store.namespace, service: service) else { return .unwatched }
                names[record] = stored
                return .named(stored)
            }
            // No record contains the name of a cleared item, so the name must be found in the view.
            if !isComplete { try complete(with: entries, store) }
            return names[record].map(Found.named) ?? .absent
        } catch {
            return .unreadable
        }
    }
}
