import Glibc
package import TokenKeepCore

/// One module was asked during a call: what it answered, and what the walk made of it. Holds no secret.
package struct StackTraceEvent: Sendable, CustomStringConvertible {
    /// The operation of the call, or of the module where it differs.
    package let operation: StackLine.Operation
    /// The item, or the service that is listed.
    package let subject: String
    /// The module asked.
    package let module: String
    /// What it answered.
    package let status: Status
    /// What its line says to that; nil where no line decides.
    package let action: StackAction?
    /// Whether the walk ends though the line says that it goes on.
    package var isHeldBack = false
    /// The module that is asked next in the walk; nil where it ends.
    package var next: String?
    /// Why the module was asked, where no line decides.
    package var reason = ""

    /// One line: the call, the module, the status, the action, why the walk goes on or ends.
    package var description: String {
        "\(operation.rawValue) \(subject): \(module): \(status.name), \(action.map { "\($0): " } ?? "")\(explanation)"
    }

    /// A module was asked, or answered, outside the walk.
    static func aside(
        _ operation: StackLine.Operation, _ name: ItemName, _ module: any Module, _ status: Status, _ reason: String
    ) -> StackTraceEvent {
        StackTraceEvent(
            operation: operation, subject: name.description, module: module.name, status: status, action: nil,
            reason: reason)
    }

    private var explanation: String {
        guard let action else { return reason }
        let counted = isHeldBack ? "nothing may be saved past it" : counted(action)
        if let next { return "\(counted), on to \(next)" }
        return action.isEnd ? "\(counted), the walk ends" : "\(counted), no line is left"
    }

    private func counted(_ action: StackAction) -> String {
        if StackActions.endsEveryWalk(status) { return "it is about the call" }
        switch action {
        case .reset: return "what counted before is forgotten"
        case _ where status == .ok: return action.countsSuccess ? "the answer counts" : "the answer does not count"
        default: return action.countsFailure ? "the failure counts" : "the failure does not count"
        }
    }
}

/// Takes the events of a store's calls, on the thread of the call; it must not call the store.
package typealias StackTraceHandler = @Sendable (StackTraceEvent) -> Void

/// `TOKENKEEP_DEBUG=1`: the events on standard error.
enum DebugTrace {
    /// Writes events where the environment asks for them; nil where it does not, or the program has more rights than its
    /// caller.
    static func handler() -> StackTraceHandler? {
        guard let value = getenv("TOKENKEEP_DEBUG"), strcmp(value, "1") == 0, !Privileges.areRaised else { return nil }
        return { write("tokenkeep: \(printable($0.description))\n") }
    }

    /// The text without what a terminal would do something else with than show it.
    private static func printable(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// In one piece, so that the lines of threads do not mix. Where it cannot be written, there is nobody to tell.
    private static func write(_ line: String) {
        var line = line
        line.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return }
            _ = Glibc.write(STDERR_FILENO, start, bytes.count)
        }
    }
}
