/// Keeps the order of each client's calls on one object: a call begins once the earlier calls that it conflicts with are
/// answered. Calls on other objects go ahead of those that wait.
///
/// Used by the bus thread alone. A step takes a time that does not grow with the number of calls.
final class CallOrder {
    private var lines: [String: [OrderedObject: CallLine]] = [:]
    private var places: UInt64 = 0
    private let resume: (String, @escaping () -> Void) -> Void

    /// - Parameter resume: takes the client and the body of a call that waited and may begin.
    init(resume: @escaping (String, @escaping () -> Void) -> Void) { self.resume = resume }

    /// Gives a call its turn behind all earlier calls of its client.
    func enter(_ client: String, _ scope: CallScope) -> CallTurn {
        places += 1
        let place = CallPlace(places, client, scope)
        for (object, use) in scope.uses {
            lines[client, default: [:]][object, default: CallLine()].append(place, use)
        }
        return CallTurn(place, self)
    }

    /// Takes an answered call away, and lets those begin that waited for it.
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

/// A call's turn among its client's calls. It ends with the last reference to it: when the call is answered.
final class CallTurn {
    private let place: CallPlace
    private let order: CallOrder

    fileprivate init(_ place: CallPlace, _ order: CallOrder) {
        self.place = place
        self.order = order
    }

    /// Runs `body`, now or once the conflicting calls that came before are answered.
    func begin(_ body: @escaping () -> Void) {
        guard place.obstacles > 0 else { return body() }
        place.body = body
    }

    deinit { order.end(place) }
}

/// A call's place in the lines of the objects that it uses.
private final class CallPlace {
    let number: UInt64
    let client: String
    let scope: CallScope
    var isAnswered = false
    /// The number of objects at which the call waits.
    var obstacles = 0
    var body: (() -> Void)?

    init(_ number: UInt64, _ client: String, _ scope: CallScope) {
        self.number = number
        self.client = client
        self.scope = scope
    }
}

/// The calls of one client that use one object, and are not answered.
private struct CallLine {
    /// The calls with one use, in the order in which they arrived.
    private struct Row {
        /// Begins with a call that is not answered. Answered calls may stand behind it.
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

    /// Forgets the answered calls of a use, and calls `free` with each call that waits no more.
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

    /// The number of the last place that has no conflicting call before it.
    private func lastFree(_ use: ObjectUse) -> UInt64 {
        use.conflicts.compactMap { rows[$0]?.calls.first?.number }.min() ?? .max
    }
}
