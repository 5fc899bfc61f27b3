/// Counts with their nouns, for messages.
enum CountedNouns {
    /// `1 item`, `2 items`.
    static func items(_ count: Int) -> String { of(count, "item") }

    /// `1 removal`, `2 removals`.
    static func removals(_ count: Int) -> String { of(count, "removal") }

    /// `1 service to be removed`, `2 services to be removed`.
    static func serviceRemovals(_ count: Int) -> String { of(count, "service") + " to be removed" }

    /// `1 line`, `2 lines`.
    static func lines(_ count: Int) -> String { of(count, "line") }

    /// `1 device`, `2 devices`.
    static func devices(_ count: Int) -> String { of(count, "device") }

    private static func of(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
