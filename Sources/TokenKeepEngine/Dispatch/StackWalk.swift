import TokenKeepCore

/// The result of asking the modules of a stack: the answers and failures that can become the operation's result.
struct StackWalk<Answer> {
    /// The answers that can become the operation's result, in the order in which the modules gave them.
    var answers: [Answer] = []
    /// The worst of the failures that can become the operation's result; nil if there is none.
    var failure: TokenKeepError?
    /// All failures that can become the operation's result, in the order of the modules.
    private(set) var failures: [TokenKeepError] = []

    /// Adds a failure that can become the operation's result. ``failure`` stays the worst one; of equally bad ones, the
    /// first.
    mutating func count(_ error: TokenKeepError) {
        failures.append(error)
        guard let failure, FailurePrecedence.rank(failure.status) <= FailurePrecedence.rank(error.status) else {
            self.failure = error
            return
        }
    }
}

/// The order of failures by severity: if several modules fail, the operation throws the worst failure.
enum FailurePrecedence {
    /// The statuses of failures, the worst first. A locked or absent module must never look like "no token".
    private static let order: [Status] = [
        .locked, .timedOut, .unavailable, .busy, .denied, .io, .unsupported, .corrupt, .internal, .notFound,
    ]

    /// The rank of a status; the lowest rank is the worst. A status that is not in the order counts as the worst.
    static func rank(_ status: Status) -> Int { order.firstIndex(of: status) ?? -1 }
}

/// The answer of a module, which may be incomplete.
struct Answered<Answer> {
    let value: Answer
    /// The failure that left the answer incomplete; nil if the answer is complete.
    var problem: TokenKeepError?
}

extension Dispatcher {
    /// Asks the modules of a stack in its order. Every operation uses this one loop.
    ///
    /// - Parameters:
    ///   - subject: the item or service, for a trace.
    ///   - passes: whether the next module may be asked after a failure whose action does not end the operation.
    ///   - ask: asks one module.
    /// - Returns: the answers and failures that can become the operation's result.
    func walk<Answer>(
        _ operation: StackLine.Operation, _ subject: @autoclosure () -> String,
        passes: (TokenKeepError, StackAction) -> Bool = { _, _ in true },
        ask: (Place) throws(TokenKeepError) -> Answered<Answer>
    ) -> StackWalk<Answer> {
        let program = programs[operation]
        var walk = StackWalk<Answer>()
        var before: [Int: StackWalk<Answer>] = [:]  // the walk's state when each substack was entered
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
        /// Whether no further module of the whole stack is asked.
        ///
        /// If false, an action that ends the operation in a substack ends only this substack.
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
