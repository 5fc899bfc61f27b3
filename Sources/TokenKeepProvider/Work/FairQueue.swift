/// A queue that serves its clients in turn, so that many elements of one client do not delay another client.
///
/// Elements of the client "" are the program's own, and are served first.
struct FairQueue<Element> {
    private var queues: [String: ArraySlice<Element>] = [:]
    /// The clients that have elements, in the order in which they are served.
    private var turns: [String] = []

    var isEmpty: Bool { turns.isEmpty }

    mutating func append(_ element: Element, of client: String) {
        if queues[client] == nil { wait(client) }
        queues[client, default: []].append(element)
    }

    /// Removes and returns the first ready element of the first client that may be served; nil if there is none.
    mutating func popFirst(
        of isServed: (String) -> Bool = { _ in true }, where isReady: (Element) -> Bool = { _ in true }
    ) -> Element? {
        for (turn, client) in turns.enumerated() where isServed(client) {
            guard let place = queues[client]?.firstIndex(where: isReady) else { continue }
            let isFirst = place == queues[client]?.startIndex
            let element = isFirst ? queues[client]?.popFirst() : queues[client]?.remove(at: place)
            turns.remove(at: turn)
            if queues[client]?.isEmpty == true { queues[client] = nil } else { wait(client) }
            return element
        }
        return nil
    }

    /// Whether ``popFirst(of:where:)`` would return an element.
    func hasElement(of isServed: (String) -> Bool, where isReady: (Element) -> Bool) -> Bool {
        turns.contains { isServed($0) && queues[$0]?.contains(where: isReady) == true }
    }

    private mutating func wait(_ client: String) {
        if client.isEmpty { turns.insert(client, at: 0) } else { turns.append(client) }
    }
}
