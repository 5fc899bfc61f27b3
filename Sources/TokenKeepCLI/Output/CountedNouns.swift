/// Counts with their nouns, for messages.
enum CountedNouns {
    /// A count of items, for example `1 item` or `2 items`.
    static func items(_ count: Int) -> String { of(count, "item") }

    /// A count of removals, for example `1 removal` or `2 removals`.
    static func removals(_ count: Int) -> String { of(count, "removal") }

    /// A count of services, for example `1 service to be removed` or `2 services to be removed`.
    static func serviceRemovals(_ count: Int) -> String { of(count, "service") + " to be removed" }

    /// A count of lines, for example `1 line` or `2 lines`.
    static func lines(_ count: Int) -> String { of(count, "line") }

    /// A count of devices, for example `1 device` or `2 devices`.
    static func devices(_ count: Int) -> String { of(count, "device") }

    private static func of(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
