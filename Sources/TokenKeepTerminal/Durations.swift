package import TokenKeepCore

/// Parses durations: a whole number and its unit, as in `500ms`, `5s`, `2m`, `1h`, `30d`. Without a unit: seconds.
package enum Durations {
    /// Parses a timeout of at least 1 millisecond. Returns milliseconds.
    package static func timeout(_ text: String) throws(TokenKeepError) -> UInt32 {
        guard let milliseconds = milliseconds(text) else {
            throw TokenKeepError(
                .invalid, "the timeout is not a duration", hint: "a number and its unit: 500ms, 5s, 2m")
        }
        guard let timeout = UInt32(exactly: milliseconds), timeout > 0 else {
            throw TokenKeepError(.invalid, "the timeout is outside 1ms to 49d", hint: "leave it out for 5s")
        }
        return timeout
    }

    /// Parses a duration. Returns milliseconds; nil if the text is not a duration or the number is too large.
    package static func milliseconds(_ text: String) -> Int64? {
        let digits = text.prefix { ("0"..."9").contains($0) }
        guard let number = Int64(digits), let factor = factors[String(text.dropFirst(digits.count))] else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : product
    }

    /// Parses the duration of a command-line option. Returns milliseconds.
    package static func milliseconds(_ text: String, of option: String) throws(TokenKeepError) -> Int64 {
        guard let milliseconds = milliseconds(text) else { throw refusal(of: option) }
        return milliseconds
    }

    package static func refusal(of option: String) -> TokenKeepError {
        TokenKeepError(
            .invalid, "the time of \(option) is not a duration", hint: "a number and its unit: 60s, 5m, 1h")
    }

    private static let factors: [String: Int64] = [
        "ms": 1, "": 1000, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000,
    ]
}
