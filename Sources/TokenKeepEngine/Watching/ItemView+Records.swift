import TokenKeepCore

extension ItemView {
    /// One item as a watch reads it now, and its change since the last reading.
    private struct Look {
        let name: ItemName
        /// The present item, as an entry of the watch's view (the items as it last read them); nil if the item does not
        /// exist.
        let entry: Entry?
        /// The change since the item was last read; nil if the item is unchanged.
        let change: ItemChange?
    }

    /// Reads only the items of some records, and compares them with this view (the items as the watch last read them).
    ///
    /// The time does not depend on the number of items in the store.
    ///
    /// - Parameter records: the file names of all records that may have changed.
    /// - Returns: the changes; nil if the whole store must be read to find them, and the view is then unchanged.
    mutating func update(
        _ records: [[UInt8]], from store: Store, service: String?, until deadline: Deadline
    ) -> [ItemChange]? {
        // A list costs less for each item than a load: if many records changed, list the whole store.
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

    /// The watched items to which some records belong; nil if the item of any record is unknown.
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

    /// Loads one item, and compares it with the watch's view (the items as it last read them).
    ///
    /// nil if it is unknown whether the item changed.
    private func look(at name: ItemName, _ store: Store, _ deadline: Deadline) -> Look? {
        let before = entries[name]
        // If the last list was incomplete, it may have lacked this item. So it is unknown whether the item has changed.
        guard before != nil || isWhole else { return nil }
        do throws(TokenKeepError) {
            // Read the clock before the load. A save by another program in the same second is then still noticed later.
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

/// Finds the watched item of a record by the record's file name. Computes names only when they are needed.
struct RecordItems {
    enum Found {
        case named(ItemName)
        /// The record belongs to an item that is not watched.
        case unwatched
        /// The record does not exist, and the items that the watch last read have other record files.
        case absent
        case unreadable
    }

    private var names: [[UInt8]: ItemName] = [:]
    /// Whether ``names`` contains every item of the watch's view (the items as it last read them).
    private var isComplete = false

    /// Finds the item whose record has the file name `record`.
    mutating func item(
        ofRecord record: [UInt8], _ store: Store, _ service: String?, _ entries: [ItemName: ItemView.Entry]
    ) -> Found {
        if let name = names[record] { return .named(name) }
        do throws(TokenKeepError) {
            if let stored = try store.records.itemName(ofRecord: record) {
                // This record is about the removal of all items of a service, so it may concern any item.
                guard stored.removedService == nil else { return .unreadable }
                guard stored.isIn(namespace: store.namespace, service: service) else { return .unwatched }
                names[record] = stored
                return .named(stored)
            }
            // The record of a cleared item no longer exists. So look for its file name among the items that the watch
            // last read.
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
