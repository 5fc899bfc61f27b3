/// A priority queue of names, each with a time. A change of a time and a removal take logarithmic time.
struct DueTimes {
    /// A binary heap. If a name's time changes, the outdated entry stays in the heap and is ignored later.
    private var heap: [(time: Int64, name: String)] = []
    private var times: [String: Int64] = [:]

    /// The earliest time; nil if there are no names.
    mutating func next() -> Int64? {
        dropOutdated()
        return heap.first?.time
    }

    /// The time of a name. Setting nil removes the name.
    subscript(name: String) -> Int64? {
        get { times[name] }
        set {
            guard newValue != times[name] else { return }
            times[name] = newValue
            guard let newValue else { return }
            heap.append((newValue, name))
            rise(heap.count - 1)
            if heap.count > 2 * times.count + 64 { rebuild() }
        }
    }

    /// Removes and returns the names whose times are not later than `time`, the earliest first.
    mutating func take(until time: Int64) -> [String] {
        var names: [String] = []
        while let next = next(), next <= time {
            names.append(heap[0].name)
            times[heap[0].name] = nil
            removeFirst()
        }
        return names
    }

    private mutating func dropOutdated() {
        while let first = heap.first, times[first.name] != first.time { removeFirst() }
    }

    private mutating func rebuild() {
        heap = times.map { ($0.value, $0.key) }.sorted { $0.time < $1.time }
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        sink(0)
    }

    private mutating func rise(_ index: Int) {
        var index = index
        while index > 0, heap[index].time < heap[(index - 1) / 2].time {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func sink(_ index: Int) {
        var index = index
        while true {
            let children = [2 * index + 1, 2 * index + 2].filter { $0 < heap.count }
            guard let least = children.min(by: { heap[$0].time < heap[$1].time }), heap[least].time < heap[index].time
            else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
