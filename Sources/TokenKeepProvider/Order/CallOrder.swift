/// Keeps the order of each client's calls on one object.
///
/// A call begins once the client's earlier calls that it conflicts with are answered. Calls on other objects overtake
/// the calls that wait.
///
/// Used by the bus thread alone. The time of each step does not grow with the number of calls.
final class CallOrder {
    private var lines: [String: [OrderedObject: CallLine]] = [:]
    private var places: UInt64 = 0
    private let resume: (String, @escaping () -> Void) -> Void

    /// Makes an order without calls.
    ///
    /// - Parameter resume: called with the client and the body of a call that waited and may begin now.
    init(resume: @escaping (String, @escaping () -> Void) -> Void) { self.resume = resume }

    /// Queues a call behind all earlier calls of its client, and returns the call's turn.
    func enter(_ client: String, _ scope: CallScope) -> CallTurn {
        places += 1
        let place = CallPlace(places, client, scope)
        for (object, use) in scope.uses {
            lines[client, default: [:]][object, default: CallLine()].append(place, use)
        }
        return CallTurn(place, self)
    }

    /// Removes an answered call, and resumes the calls that waited only for this call.
    fileprivate func end(_ place: CallPlace) {
        place.isAnswered = true
        for (object, use) in place.scope.uses {
            lines[place.client]?[object]?.remove(use) { [resume] waiting in
                waiting.obstacles -= 1
                guard waiting.obstacles == 0, let body = waiting.body else { return }
                waiting.body = nil
                resume(waiting.client, body)
            }
            if lines[place.client]?[object]?.isEmpty == true { lines[place.client]?[object] = nil }
        }
        if lines[place.client]?.isEmpty == true { lines[place.client] = nil }
    }
}

/// A call's turn among its client's calls. The turn ends when its last reference is released, once the call is
/// answered.
final class CallTurn {
    private let place: CallPlace
    private let order: CallOrder

    fileprivate init(_ place: CallPlace, _ order: CallOrder) {
        self.place = place
        self.order = order
    }

    /// Runs `body` at once, or as soon as the earlier conflicting calls are answered.
    func begin(_ body: @escaping () -> Void) {
        guard place.obstacles > 0 else { return body() }
        place.body = body
    }

    deinit { order.end(place) }
}

/// A call's place in the queues of the objects that it uses.
private final class CallPlace {
    let number: UInt64
    let client: String
    let scope: CallScope
    var isAnswered = false
    /// The number of objects on which an earlier conflicting call is not answered yet.
    var obstacles = 0
    var body: (() -> Void)?

    init(_ number: UInt64, _ client: String, _ scope: CallScope) {
        self.number = number
        self.client = client
        self.scope = scope
    }
}

/// The unanswered calls of one client on one object.
private struct CallLine {
    /// The calls with the same use, in the order in which they arrived.
    private struct Row {
        /// The calls, the first of which is unanswered. Answered calls may follow it.
        var calls: ArraySlice<CallPlace> = []
        var answered = 0
        var waiting: ArraySlice<CallPlace> = []

        mutating func removeAnswered() {
            answered += 1
            while calls.first?.isAnswered == true {
                calls.removeFirst()
                answered -= 1
            }
            guard answered > 16 + calls.count / 2 else { return }
            calls.removeAll(where: \.isAnswered)
            answered = 0
        }
    }

    private var rows: [ObjectUse: Row] = [:]

    var isEmpty: Bool { rows.isEmpty }

    mutating func append(_ place: CallPlace, _ use: ObjectUse) {
        rows[use, default: Row()].calls.append(place)
        guard lastFree(use) < place.number else { return }
        place.obstacles += 1
        rows[use, default: Row()].waiting.append(place)
    }

    /// Removes the answered calls of a use, and calls `free` with each call that no longer has to wait.
    mutating func remove(_ use: ObjectUse, _ free: (CallPlace) -> Void) {
        rows[use]?.removeAnswered()
        if rows[use]?.calls.isEmpty == true { rows[use] = nil }
        for waiting in use.conflicts where rows[waiting] != nil {
            let last = lastFree(waiting)
            while let next = rows[waiting]?.waiting.first, next.number <= last {
                rows[waiting]?.waiting.removeFirst()
                free(next)
            }
        }
    }

    /// The number of the first unanswered call that conflicts with `use`. Calls up to this number need not wait.
    private func lastFree(_ use: ObjectUse) -> UInt64 {
        use.conflicts.compactMap { rows[$0]?.calls.first?.number }.min() ?? .max
    }
}
