import TokenKeepCore

/// The counted answers and failures of a walk.
struct StackWalk<Answer> {
    /// The successes, in their order.
    var answers: [Answer] = []
    /// The worst failure.
    var failure: TokenKeepError?
    /// Every failure that counts.
    private(set) var failures: [TokenKeepError] = []

    /// Counts a failure. Keeps the worst; of equal failures, the first.
    mutating func count(_ error: TokenKeepError) {
        failures.append(error)
        guard let failure, FailurePrecedence.rank(failure.status) <= FailurePrecedence.rank(error.status) else {
            self.failure = error
            return
        }
    }
}

/// The precedence of failures: the worst failure becomes the answer.
enum FailurePrecedence {
    /// The statuses from the worst on. A locked or absent module must never look like "no token".
    private static let order: [Status] = [
        .locked, .timedOut, .unavailable, .busy, .denied, .io, .unsupported, .corrupt, .internal, .notFound,
    ]

    /// The rank of a status; the lowest is the worst. Failures of the user or the caller have the lowest rank.
    static func rank(_ status: Status) -> Int { order.firstIndex(of: status) ?? -1 }
}

/// The answer of a module.
struct Answered<Answer> {
    let value: Answer
    /// The failure that left the answer incomplete; nil if the answer is complete.
    var problem: TokenKeepError?
}

extension Dispatcher {
    /// Asks the modules of a stack in its order. This is the one loop behind every operation.
    ///
    /// - Parameters:
    ///   - subject: the item or service, for a trace.
    ///   - passes: whether the walk may go on after a failure whose action lets it go on.
    ///   - ask: asks one module.
    /// - Returns: the answers and failures that count.
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
        /// Whether the walk ends as a whole, not only the substack.
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
