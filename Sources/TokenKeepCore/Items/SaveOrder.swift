/// The order in which the accounts of a service were saved.
///
/// The time of an item's last change has a resolution of one second. An item that is saved within the same second as an
/// item of another account, or after the clock was set back, gets the attribute `saved-after`: the time, in
/// milliseconds, that takes the place of its last change in this order.
package enum SaveOrder {
    private static let attribute = "saved-after"

    /// Whether the left item was saved after the right item. If their times are equal, the order of the names decides.
    package static func isNewer(_ left: ItemDetails, _ right: ItemDetails) -> Bool {
        let times = (time(of: left), time(of: right))
        return times.0 == times.1 ? left.name < right.name : times.0 > times.1
    }

    /// Adds `saved-after` to the attributes of an item that is saved now, if the item would otherwise not be the newest
    /// in this order.
    package static func attributes(
        _ attributes: ItemAttributes, of name: ItemName, after items: [ItemDetails]
    ) throws(TokenKeepError) -> ItemAttributes {
        let latest = items.filter { $0.name != name }.map(time).max() ?? .min
        let (next, overflows) = latest.addingReportingOverflow(1)
        guard latest >= milliseconds(.now), !overflows else { return attributes }
        return try ItemAttributes(attributes.pairs + [(attribute, String(next))])
    }

    /// The attributes without `saved-after`.
    package static func removed(from attributes: ItemAttributes) throws(TokenKeepError) -> ItemAttributes {
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
