import Glibc
package import TokenKeepCore

/// A trace event: one module's answer, and its effect on the operation. Contains no secret.
package struct StackTraceEvent: Sendable, CustomStringConvertible {
    /// The operation that the module was asked for. It may differ from the operation that the caller requested.
    package let operation: StackLine.Operation
    /// The item's name in the store's call; for a list, the service.
    package let subject: String
    /// The name of the module that was asked.
    package let module: String
    /// The status of the module's answer.
    package let status: Status
    /// The action that the stack's line assigns to this status; nil if no stack line is the reason for asking the
    /// module.
    package let action: StackAction?
    /// Whether a save ends here although the line's action would continue with the next module.
    package var isHeldBack = false
    /// The name of the module that is asked next; nil if no other module is asked.
    package var next: String?
    /// The reason for asking the module; empty if a line of the stack is the reason.
    package var reason = ""

    /// One line of text: operation, item, module, status, action, and whether the next module is asked.
    package var description: String {
        "\(operation.rawValue) \(subject): \(module): \(status.name), \(action.map { "\($0): " } ?? "")\(explanation)"
    }

    /// Makes an event for a module that was asked, although no stack line is the reason.
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

/// Receives the trace events of a store's calls, on the thread of each call. Must not call the store.
package typealias StackTraceHandler = @Sendable (StackTraceEvent) -> Void

extension Optional<StackTraceHandler> {
    /// Calls `body`, which asks a module for the given reason and not because of a stack line, and traces the answer.
    func asking<Answer>(
        _ module: any Module, to operation: StackLine.Operation, _ name: ItemName, because reason: String,
        _ body: () throws(TokenKeepError) -> Answer
    ) throws(TokenKeepError) -> Answer {
        do throws(TokenKeepError) {
            let answer = try body()
            self?(.aside(operation, name, module, .ok, reason))
            return answer
        } catch {
            self?(.aside(operation, name, module, error.status, reason))
            throw error.inModule(module.name)
        }
    }
}

/// Writes trace events to standard error, for `TOKENKEEP_DEBUG=1`.
enum DebugTrace {
    /// The handler that writes to standard error; nil unless `TOKENKEEP_DEBUG` is 1.
    ///
    /// Also nil in a program with more rights than its caller, because the caller controls the environment.
    static func handler() -> StackTraceHandler? {
        guard let value = getenv("TOKENKEEP_DEBUG"), strcmp(value, "1") == 0, !Privileges.areRaised else { return nil }
        return { write("tokenkeep: \(printable($0.description))\n") }
    }

    /// Escapes the control and format characters of a text, so that a terminal does not interpret them.
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

    /// Writes a line with one system call, so that lines of several threads are not mixed. Ignores failures.
    private static func write(_ line: String) {
        var line = line
        line.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return }
            _ = Glibc.write(STDERR_FILENO, start, bytes.count)
        }
    }
}
