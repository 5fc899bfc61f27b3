import TokenKeepCore

/// The arguments of a stack line, taken one by one by the module that knows them.
struct ModuleArguments {
    private let module: String
    private var rest: [String]

    init(_ line: StackLine) {
        module = line.module
        rest = line.arguments
    }

    /// Takes `timeout=DURATION`, in milliseconds; nil where it is not there.
    ///
    /// - Throws: ``Status/invalid`` where it is no duration such as `500ms`, `5s` or `1m`, or 0.
    mutating func takeTimeout() throws(TokenKeepError) -> UInt32? {
        guard let index = rest.firstIndex(where: { $0.hasPrefix("timeout=") }) else { return nil }
        let text = rest.remove(at: index).dropFirst("timeout=".count)
        let units: [(suffix: String, milliseconds: UInt32)] = [("ms", 1), ("s", 1000), ("m", 60_000)]
        for unit in units where text.hasSuffix(unit.suffix) {
            let digits = text.dropLast(unit.suffix.count)
            // UInt32 would take a sign too.
            guard digits.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains), let number = UInt32(digits)
            else { break }
            let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
            if !overflow, milliseconds > 0 { return milliseconds }
        }
        throw TokenKeepError(
            .invalid, "the module \(module) has a timeout that is no duration", hint: "for example: timeout=5s")
    }

    /// Takes what is left: the module itself says what it makes of it.
    mutating func takeRest() -> [String] {
        defer { rest = [] }
        return rest
    }

    /// - Throws: ``Status/invalid`` where an argument is left that nobody took.
    func end() throws(TokenKeepError) {
        guard let argument = rest.first else { return }
        throw TokenKeepError(.invalid, "the module \(module) takes no argument \"\(argument.cutForMessage)\"")
    }
}
