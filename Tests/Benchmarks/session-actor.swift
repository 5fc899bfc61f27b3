/// A token behind an actor, as the SDKs of Okta and Supabase keep it. Usage: session-actor CALLS MAIN_CALLS
actor TokenHolder {
    private let value: String

    init(_ value: String) { self.value = value }

    // An SDK is another module: its getter is not inlined.
    @inline(never)
    func token() async -> String { value }
}

@main
struct SessionActor {
    static func main() async {
        guard CommandLine.arguments.count == 3, let calls = Int(CommandLine.arguments[1]),
            let mainCalls = Int(CommandLine.arguments[2])
        else { return }
        let holder = TokenHolder(String(repeating: "0", count: 800))
        let fromTask = await Task.detached { await microseconds(calls, holder) }.value
        print("task", calls, fromTask)
        print("main", mainCalls, await microsecondsOnMain(mainCalls, holder))
    }

    static func microseconds(_ calls: Int, _ holder: TokenHolder) async -> Double {
        var length = 0
        let start = ContinuousClock.now
        for _ in 0..<calls { length += await holder.token().utf8.count }
        return mean(ContinuousClock.now - start, calls, length)
    }

    @MainActor
    static func microsecondsOnMain(_ calls: Int, _ holder: TokenHolder) async -> Double {
        var length = 0
        let start = ContinuousClock.now
        for _ in 0..<calls { length += await holder.token().utf8.count }
        return mean(ContinuousClock.now - start, calls, length)
    }

    nonisolated static func mean(_ duration: Duration, _ calls: Int, _ length: Int) -> Double {
        precondition(length == calls * 800)
        return duration / .microseconds(1) / Double(calls)
    }
}
