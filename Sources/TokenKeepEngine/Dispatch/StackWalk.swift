import TokenKeepCore

/// The answers and failures of a stack's modules that can become the result of an operation.
struct StackWalk<Answer> {
    /// The answers that can become the operation's result, in the order of the modules.
    var answers: [Answer] = []
    /// The worst failure that can become the operation's result; nil if there is none.
    var failure: TokenKeepError?
    /// All failures that can become the operation's result, in the order of the modules.
    private(set) var failures: [TokenKeepError] = []

    /// The error that a load of an item throws: the worst failure.
    ///
    /// If the error is ``Status/notFound``, it names the first module that answered, or no module if every module was
    /// absent or not asked.
    func failure(of name: ItemName) -> TokenKeepError {
        if let failure, failure.status != .notFound { return failure }
        return failures.first { !$0.isAbsence } ?? TokenKeepError(.notFound, "no item \(name)")
    }

    /// Adds a failure that can become the operation's result. ``failure`` is the first of equally severe failures.
    mutating func count(_ error: TokenKeepError) {
        failures.append(error)
        guard let failure, FailurePrecedence.rank(failure.status) <= FailurePrecedence.rank(error.status) else {
            self.failure = error
            return
        }
    }
}

/// The order of failures by severity. If several modules fail, the operation throws the worst failure.
enum FailurePrecedence {
    /// The statuses of failures, the worst first. NOT_FOUND is the last, because callers conclude from NOT_FOUND that
    /// there is no token.
    private static let order: [Status] = [
        .locked, .timedOut, .unavailable, .busy, .denied, .io, .unsupported, .corrupt, .internal, .notFound,
    ]

    /// The rank of a status. A lower rank is worse: 0 is the first status of the list, -1 any status that is not in the
    /// list.
    static func rank(_ status: Status) -> Int { order.firstIndex(of: status) ?? -1 }
}

/// A module's answer, which may be incomplete.
struct Answered<Answer> {
    let value: Answer
    /// The failure that left the answer incomplete; nil if the answer is complete.
    var problem: TokenKeepError?
}

extension Dispatcher {
    /// Asks the modules in the order of the stack's lines. All operations use this loop.
    ///
    /// - Parameters:
    ///   - subject: the name of the item or service, for trace events.
    ///   - passes: returns whether the next module may be asked after a failure. Called only if the failure's action
    ///     does not end the walk.
    ///   - ask: asks one module.
    /// - Returns: the answers and failures that can become the operation's result.
    func walk<Answer>(
        _ operation: StackLine.Operation, _ subject: @autoclosure () -> String,
        passes: (TokenKeepError, StackAction) -> Bool = { _, _ in true },
        ask: (Place) throws(TokenKeepError) -> Answered<Answer>
    ) -> StackWalk<Answer> {
        let program = operations[operation]
        var walk = StackWalk<Answer>()
        var before: [Int: StackWalk<Answer>] = [:]  // the answers and failures before each substack was entered
        var index = 0
        while index < program.steps.count {
            let step = program.steps[index]
            if program.scopes.count > 1 {
                for scope in program.scopes.indices where program.scopes[scope].first == index { before[scope] = walk }
            }
            guard let place = step.place else {
                index += 1
                continue
            }
            let visit = visit(place, step.actions, &walk, before: before[step.scope], passes: passes, ask: ask)
            let next = visit.endsAll ? program.steps.count : program.next(after: index, visit.action)
            trace?(
                StackTraceEvent(
                    operation: operation, subject: subject(), module: place.module.name, status: visit.status,
                    action: visit.action, isHeldBack: visit.isHeldBack,
                    next: program.steps[next...].lazy.compactMap(\.place).first?.module.name))
            index = next
        }
        return walk
    }

    private struct Visit {
        let status: Status
        let action: StackAction
        var isHeldBack = false
        /// Whether no other module of the whole stack is asked.
        ///
        /// If false, an action that ends the operation inside a substack ends only the substack.
        var endsAll: Bool { isHeldBack || StackActions.endsEveryWalk(status) }
    }

    private func visit<Answer>(
        _ place: Place, _ actions: StackActions, _ walk: inout StackWalk<Answer>, before: StackWalk<Answer>?,
        passes: (TokenKeepError, StackAction) -> Bool, ask: (Place) throws(TokenKeepError) -> Answered<Answer>
    ) -> Visit {
        do throws(TokenKeepError) {
            let answer = try ask(place)
            let action = actions[.ok]
            if action == .reset { walk = before ?? StackWalk() }
            if action.countsSuccess { walk.answers.append(answer.value) }
            if let problem = answer.problem, actions[problem.status].countsFailure { walk.count(problem) }
            return Visit(status: .ok, action: action)
        } catch {
            let action = actions[error.status]
            let isHeldBack = !action.isEnd && !passes(error, action)
            if action == .reset { walk = before ?? StackWalk() }
            if action.countsFailure || isHeldBack { walk.count(error) }
            return Visit(status: error.status, action: isHeldBack ? .die : action, isHeldBack: isHeldBack)
        }
    }
}
