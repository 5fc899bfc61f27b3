import TokenKeepCore

/// The arguments of a stack line. A module removes the arguments that it knows. An argument that remains is an error.
struct ModuleArguments {
    private let module: String
    private var rest: [String]

    init(_ line: StackLine) {
        module = line.module
        rest = line.arguments
    }

    /// Removes the argument `timeout=DURATION`, and returns it in milliseconds; nil if there is no such argument.
    ///
    /// - Throws: ``Status/invalid`` if the value is 0, or is no duration such as `500ms`, `5s`, `1m` or `5` (seconds).
    mutating func takeTimeout() throws(TokenKeepError) -> UInt32? {
        guard let index = rest.firstIndex(where: { $0.hasPrefix("timeout=") }) else { return nil }
        let text = rest.remove(at: index).dropFirst("timeout=".count)
        let units: [(suffix: String, milliseconds: UInt32)] = [("ms", 1), ("s", 1000), ("m", 60_000), ("", 1000)]
        for unit in units where text.hasSuffix(unit.suffix) {
            let digits = text.dropLast(unit.suffix.count)
            // Checked first, because UInt32 would also accept a sign.
            guard digits.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains), let number = UInt32(digits)
            else { break }
            let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
            if !overflow, milliseconds > 0 { return milliseconds }
        }
        throw TokenKeepError(
            .invalid, "the module \(module) has a timeout that is no duration", hint: "for example: timeout=5s")
    }

    /// Removes and returns all remaining arguments, for a plugin module that interprets its arguments itself.
    mutating func takeRest() -> [String] {
        defer { rest = [] }
        return rest
    }

    /// Throws ``Status/invalid`` if an argument remains that the module does not know.
    func end() throws(TokenKeepError) {
        guard let argument = rest.first else { return }
        throw TokenKeepError(.invalid, "the module \(module) takes no argument \"\(argument.cutForMessage)\"")
    }
}
