import TokenKeepCore

/// The lines of a stack that apply to one operation, in the order in which their modules are asked.
struct OperationSteps: Sendable {
    /// One line of the stack, as a step of the operation.
    struct Step: Sendable {
        /// The module and its line; nil if the module is missing, so that the line is skipped.
        let place: Dispatcher.Place?
        let actions: StackActions
        /// The index in ``OperationSteps/scopes`` of the stack or substack that contains the line.
        let scope: Int
        /// The position of the line in its stack or substack, from 0.
        let position: Int
    }

    /// A stack or substack, as a range of steps.
    struct Scope: Sendable {
        /// The index of the first step of each entry, followed by the index after the last step.
        var starts: [Int] = []
        var end: Int { starts.last ?? 0 }
        var first: Int { starts.first ?? 0 }
    }

    private(set) var steps: [Step] = []
    /// The stack itself, then its substacks in the order in which an operation enters them.
    private(set) var scopes: [Scope] = []

    /// The first step whose line is not skipped; nil if there is none.
    var first: Step? { steps.first { $0.place != nil } }
    /// Whether the operation may ask a module.
    var asksModules: Bool { steps.contains { $0.place != nil } }

    /// The lines and modules that an operation may ask, in the order of the stack.
    var places: [Dispatcher.Place] { steps.compactMap(\.place) }

    /// - Parameter place: returns the module of a line; nil to skip the line.
    /// - Throws: ``Status/invalid`` if a jump leads out of its stack.
    init(
        _ entries: [Stack.Entry], for operation: StackLine.Operation, place: (StackLine) -> Dispatcher.Place?
    ) throws(TokenKeepError) {
        try append(entries, for: operation, place: place)
    }

    private mutating func append(
        _ entries: [Stack.Entry], for operation: StackLine.Operation, place: (StackLine) -> Dispatcher.Place?
    ) throws(TokenKeepError) {
        let entries = entries.filter { $0.applies(to: operation) }
        let scope = scopes.count
        scopes.append(Scope())
        for (position, entry) in entries.enumerated() {
            scopes[scope].starts.append(steps.count)
            switch entry {
            case .substack(let substack): try append(substack.entries, for: operation, place: place)
            case .line(let line):
                let actions = line.control.actions(for: operation)
                try OperationSteps.check(actions, of: line, for: operation, following: entries.count - position - 1)
                steps.append(Step(place: place(line), actions: actions, scope: scope, position: position))
            }
        }
        scopes[scope].starts.append(steps.count)
    }

    /// The index of the step to take after step `index`, whose module's answer led to `action`.
    func next(after index: Int, _ action: StackAction) -> Int {
        let step = steps[index]
        let scope = scopes[step.scope]
        switch action {
        case .done, .die: return scope.end
        case .jump(let lines):
            let target = step.position + 1 + lines
            return target < scope.starts.count ? scope.starts[target] : scope.end
        case .ignore, .ok, .bad, .reset: return index + 1
        }
    }

    /// Checks that a save ends after the first module has saved the item.
    ///
    /// An item cannot be saved in several modules, because a save can become pending for only one module.
    ///
    /// - Throws: ``Status/invalid`` if the save would continue after the first module that saves.
    func checkEndsWhereItSaves() throws(TokenKeepError) {
        guard let first, let place = first.place else { return }
        let action = first.actions[.ok]
        guard action.countsSuccess, !action.isEnd else { return }
        throw TokenKeepError(
            .invalid,
            "\(place.line.place): expected ok=done for save, not ok=\(action): \(place.module.name) is the one place of what it takes",
            hint: "to keep items in several modules, open a stack for each")
    }

    private static func check(
        _ actions: StackActions, of line: StackLine, for operation: StackLine.Operation, following: Int
    ) throws(TokenKeepError) {
        for case .jump(let lines) in actions.named.map(\.action) + [actions.others] where lines > following {
            let what = following == 0 ? "no jump" : "a jump over at most \(following), not \(lines)"
            throw TokenKeepError(
                .invalid,
                "\(line.place): expected \(what): \(following == 0 ? "no" : "no further") line follows for \(operation.rawValue)",
                hint: "a jump counts the lines that follow in the same stack and apply to the same operation")
        }
    }
}

extension Stack.Entry {
    /// Whether this line or substack applies to `operation`.
    package func applies(to operation: StackLine.Operation) -> Bool {
        switch self {
        case .line(let line): line.applies(to: operation)
        case .substack(let substack): substack.operation == .any || substack.operation == operation
        }
    }
}
