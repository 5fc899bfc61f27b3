import Glibc
package import TokenKeepCore

/// An event of a call: a module was asked, answered, and the walk went on or ended. Holds no secret.
package struct StackTraceEvent: Sendable, CustomStringConvertible {
    /// The operation of the call, or of the module if it differs.
    package let operation: StackLine.Operation
    /// The item, or the service of a list.
    package let subject: String
    /// The module asked.
    package let module: String
    /// The module's answer.
    package let status: Status
    /// The action of the module's line for the answer; nil if no line decides.
    package let action: StackAction?
    /// Whether the walk ends although the line's action lets it go on.
    package var isHeldBack = false
    /// The module that the walk asks next; nil if the walk ends.
    package var next: String?
    /// The reason why the module was asked, if no line decides.
    package var reason = ""

    /// One line: the call, the module, the status, the action, and why the walk goes on or ends.
    package var description: String {
        "\(operation.rawValue) \(subject): \(module): \(status.name), \(action.map { "\($0): " } ?? "")\(explanation)"
    }

    /// An event outside the walk.
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

/// Gets the events of a store's calls, on the thread of the call. Must not call the store.
package typealias StackTraceHandler = @Sendable (StackTraceEvent) -> Void

/// Writes trace events to standard error, for `TOKENKEEP_DEBUG=1`.
enum DebugTrace {
    /// The handler, if the environment asks for a trace; nil otherwise.
    ///
    /// A program with more rights than its caller ignores the environment, and gets nil.
    static func handler() -> StackTraceHandler? {
        guard let value = getenv("TOKENKEEP_DEBUG"), strcmp(value, "1") == 0, !Privileges.areRaised else { return nil }
        return { write("tokenkeep: \(printable($0.description))\n") }
    }

    /// The text, with control and format characters escaped, so that a terminal shows the text unchanged.
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

    /// Writes a line in one piece, so that the lines of several threads do not mix. A failure to write is ignored.
    private static func write(_ line: String) {
        var line = line
        line.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return }
            _ = Glibc.write(STDERR_FILENO, start, bytes.count)
        }
    }
}
