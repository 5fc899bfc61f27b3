import TokenKeepCore

/// The order in which the accounts of a service were saved.
///
/// Items have the second of their last change. An item saved within the same second as another account's, or after the
/// clock was set back, gets the attribute `saved-after`: the milliseconds at which it counts as saved.
enum SaveOrder {
    private static let attribute = "saved-after"

    /// Whether an item was saved after another; of the same time, in the order of names.
    static func isNewer(_ left: ItemDetails, _ right: ItemDetails) -> Bool {
        let times = (time(of: left), time(of: right))
        return times.0 == times.1 ? left.name < right.name : times.0 > times.1
    }

    /// The attributes of an item that is saved now, after the other items of its service.
    static func attributes(
        _ attributes: ItemAttributes, of name: ItemName, after items: [ItemDetails]
    ) throws(TokenKeepError) -> ItemAttributes {
        let latest = items.filter { $0.name != name }.map(time).max() ?? .min
        let (next, overflows) = latest.addingReportingOverflow(1)
        guard latest >= milliseconds(.now), !overflows else { return attributes }
        return try ItemAttributes(attributes.pairs + [(attribute, String(next))])
    }

    /// The attributes without the order.
    static func removed(from attributes: ItemAttributes) throws(TokenKeepError) -> ItemAttributes {
        try ItemAttributes(attributes.pairs.filter { $0.name != attribute })
    }

    private static func time(of item: ItemDetails) -> Int64 {
        let changed = item.modifiedAt.map(milliseconds) ?? 0
        return max(changed, item.attributes[attribute].flatMap { Int64($0) } ?? changed)
    }

    private static func milliseconds(_ time: UnixTime) -> Int64 {
        let (product, overflows) = time.rawValue.multipliedReportingOverflow(by: 1000)
        return overflows ? 0 : product
    }
}
