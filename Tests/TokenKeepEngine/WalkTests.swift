import Testing
import TokenKeepCore

@testable import TokenKeepEngine

private typealias Outcome = WalkTable.Outcome

/// The effect of each control on each status, written down apart from the code. `docs/stack.md` has the same table.
private enum WalkTable {
    enum Outcome: Equatable {
        /// The walk ends, and the answer or failure is the result.
        case ends
        /// The walk goes on, and the answer or failure counts.
        case countsAndGoesOn
        /// The walk goes on, and the answer or failure does not count.
        case isForgotten
    }

    /// The statuses that concern the call and not the module.
    static let always: Set<Status> = [.invalid, .duplicate, .conflict, .forked]

    static func outcome(_ operation: String, _ control: String, _ status: Status) -> Outcome {
        if always.contains(status) { return .ends }
        switch (operation, control, status) {
        // Success: the first module that has or saves the item ends the walk. A clear or list asks every module.
        case ("load", _, .ok), ("save", _, .ok): return .ends
        case (_, _, .ok): return .countsAndGoesOn
        // The user cancelled the call.
        case (_, _, .cancelled): return .ends
        // Failure of a load: a later module may have the item.
        case ("load", "optional", _): return .isForgotten
        case ("load", "requisite", .notFound): return .countsAndGoesOn
        case ("load", "requisite", _): return .ends
        case ("load", _, _): return .countsAndGoesOn
        // Failure of a save: the walk may go on only if the failed module can have a pending write.
        case ("save", "optional", _): return .isForgotten
        case ("save", "requisite", _): return .ends
        case ("save", _, .notFound), ("save", _, .unavailable), ("save", _, .timedOut): return .countsAndGoesOn
        case ("save", _, _): return .ends
        // Failure of a clear or list: every module is asked, and a module without the item has not failed.
        case (_, "optional", _), (_, _, .notFound): return .isForgotten
        case ("list", "requisite", _): return .ends
        default: return .countsAndGoesOn
        }
    }
}

@Suite struct WalkTests {
    static let operations = ["load", "save", "clear", "list"]
    static let controls = ["required", "requisite", "sufficient", "optional"]

    /// Walks a stack whose modules answer with given statuses. Returns the asked modules, and what counts.
    private func walk(
        files: [String: String] = [:], _ text: String, _ answers: [String: Status] = [:],
        _ operation: StackLine.Operation = .load, passes: Bool = true
    ) throws -> (asked: [String], counted: [String], failure: Status?) {
        let stack = try StackDirectory(files).stack(text)
        let programs = try StackOperations(stack.entries) { line throws(TokenKeepError) in
            NamedModule(name: line.module)
        }
        let dispatcher = Dispatcher(operations: programs, memory: MemoryModule())
        var asked: [String] = []
        let walk = dispatcher.walk(operation, "item", passes: { _, _ in passes }) { place throws(TokenKeepError) in
            asked.append(place.module.name)
            let status = answers[place.module.name] ?? .notFound
            guard status == .ok else { throw TokenKeepError(status, "told to") }
            return Answered(value: place.module.name)
        }
        return (asked, walk.answers, walk.failure?.status)
    }

    @Test(arguments: operations, controls)
    func eachControlMakesOfEachStatusWhatTheTableSays(operation: String, control: String) throws {
        let parsed = try #require(StackLine.Operation(rawValue: operation))
        for status in Status.allCases {
            let result = try walk(
                "\(operation) \(control) first\n\(operation) required second", ["first": status, "second": .ok], parsed)
            let outcome = WalkTable.outcome(operation, control, status)
            let note = Comment(rawValue: "\(operation) \(control) \(status)")
            #expect(result.asked == (outcome == .ends ? ["first"] : ["first", "second"]), note)
            let counts = outcome != .isForgotten
            #expect(result.counted.contains("first") == (counts && status == .ok), note)
            #expect(result.failure == (counts && status != .ok ? status : nil), note)
        }
    }

    /// An action has the same effect in every operation.
    @Test(arguments: operations)
    func actionsSayThemselvesWhatFollows(operation: String) throws {
        let parsed = try #require(StackLine.Operation(rawValue: operation))
        func walk(_ actions: String, _ status: Status) throws -> (asked: [String], counted: [String], failure: Status?)
        {
            try self.walk(
                """
                any [not_found=bad] zero
                any [\(actions)] first
                any [ok=ok] second
                any [ok=ok] third
                """, ["first": status, "second": .ok, "third": .ok], parsed)
        }
        for status in Status.allCases where !WalkTable.always.contains(status) {
            let word = status.word
            let isOK = status == .ok
            let worst: Status = isOK ? .notFound : status
            let note = Comment(rawValue: "\(operation) \(word)")
            let ignored = try walk("\(word)=ignore", status)
            #expect(ignored.asked.count == 4 && ignored.counted == ["second", "third"], note)
            #expect(ignored.failure == .notFound, note)
            let ok = try walk("\(word)=ok", status)
            #expect(ok.asked.count == 4 && ok.counted == (isOK ? ["first"] : []) + ["second", "third"], note)
            #expect(ok.failure == worst, note)
            let done = try walk("\(word)=done", status)
            #expect(done.asked.count == 2 && done.counted == (isOK ? ["first"] : []), note)
            #expect(done.failure == worst, note)
            let reset = try walk("\(word)=reset", status)
            #expect(reset.asked.count == 4 && reset.counted == ["second", "third"] && reset.failure == nil, note)
            let jump = try walk("\(word)=1", status)
            #expect(jump.asked == ["zero", "first", "third"], note)
            #expect(jump.counted == (isOK ? ["first"] : []) + ["third"] && jump.failure == .notFound, note)
            if isOK { continue }
            let bad = try walk("\(word)=bad", status)
            #expect(bad.asked.count == 4 && bad.counted == ["second", "third"] && bad.failure == worst, note)
            let die = try walk("default=die", status)
            #expect(die.asked.count == 2 && die.counted == [] && die.failure == worst, note)
            let unnamed = try walk("ok=ok", status)
            #expect(unnamed.asked.count == 4 && unnamed.failure == worst, note)
        }
    }

    /// A worse failure counts whichever module is asked first. Of two equally bad failures, the first counts.
    @Test func theWorstFailureCounts() throws {
        let order: [Status] = [.locked, .timedOut, .unavailable, .corrupt, .notFound]
        for (index, worse) in order.enumerated() {
            for better in order.dropFirst(index) {
                for pair in [(worse, better), (better, worse)] {
                    let result = try walk(
                        "load required a\nload required b", ["a": pair.0, "b": pair.1])
                    #expect(result.failure == worse, "\(pair)")
                }
            }
        }
        let cancelled = try walk("load required a\nload required b", ["a": .locked, "b": .cancelled])
        #expect(cancelled.failure == .cancelled)
    }

    @Test func jumpsCountTheLinesOfTheirOperationAndReachTheEnd() throws {
        let text = """
            load [not_found=2 default=bad] a
            save required x
            load required b
            load required c
            load required d
            """
        #expect(try walk(text).asked == ["a", "d"])
        let toTheEnd = "any [not_found=1] a\nany required b"
        #expect(try walk(toTheEnd).asked == ["a"])
    }

    @Test(arguments: [
        ("any [ok=1] vault", "test:1: expected no jump: no line follows for load"),
        (
            "load [locked=3] a\nsave required x\nload required b",
            "test:1: expected a jump over at most 1, not 3: no further line follows for load"
        ),
        ("any required a\nlist [default=1] b", "test:2: expected no jump"),
    ])
    func refusesJumpsOutOfTheStack(text: String, words: String) {
        #expect {
            try walk(text)
        } throws: { error in
            (error as? TokenKeepError)?.status == .invalid && "\(error)".contains(words)
        }
    }

    /// A save that must not go on ends the whole walk, even if its line is in a substack.
    @Test func heldBackWalksEnd() throws {
        let files = ["sub": "save [default=ignore] a\n"]
        for line in ["substack sub", "include sub"] {
            let result = try walk(
                files: files, line + "\nsave required b", ["a": .unavailable, "b": .ok], .save, passes: false)
            #expect(result.asked == ["a"])
            #expect(result.failure == .unavailable)
        }
    }
}

/// A module that is never asked, because the walk's own closure answers.
private struct NamedModule: BasicModule {
    let name: String
    private var refusal: TokenKeepError { TokenKeepError(.internal, "not to be asked") }

    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem { throw refusal }
    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 { throw refusal }
    func clear(_ name: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool {
        throw refusal
    }
    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        throw refusal
    }
    func report(_ call: CallContext) -> ModuleReport { ModuleReport(module: name, place: "nowhere") }
}

extension WalkTests {
    @Test func anIncludedStackEndsTheWhole() throws {
        let files = ["sub": "any required a\nany required b\n"]
        let result = try walk(files: files, "any include sub\nany required c", ["a": .ok])
        #expect(result.asked == ["a"])
        #expect(result.counted == ["a"])
    }

    @Test func aSubstackEndsItselfAlone() throws {
        let files = ["sub": "any requisite a\nany required b\n"]
        let done = try walk(files: files, "any substack sub\nany required c", ["a": .ok])
        #expect(done.asked == ["a", "c"])
        #expect(done.counted == ["a"])
        let die = try walk(files: files, "any substack sub\nany required c", ["a": .locked])
        #expect(die.asked == ["a", "c"])
        #expect(die.failure == .locked)
        // A failure that concerns the call ends the whole walk.
        #expect(try walk(files: files, "any substack sub\nany required c", ["a": .conflict]).asked == ["a"])
    }

    @Test func aSubstackCountsAsOneLineOfAJump() throws {
        let files = ["sub": "any required b\nany required c\n", "empty": "save required x\n"]
        let over = "any [not_found=1] a\nany substack sub\nany required d"
        #expect(try walk(files: files, over, [:]).asked == ["a", "d"])
        let included = "any [not_found=1] a\nany include sub\nany required d"
        #expect(try walk(files: files, included, [:]).asked == ["a", "c", "d"])
        let empty = "any [not_found=1] a\nany substack empty\nany required d"
        #expect(try walk(files: files, empty, [:]).asked == ["a", "d"])
    }

    @Test func jumpsStayInTheirSubstack() throws {
        let files = ["sub": "load [not_found=1] b\nload required c\n", "out": "load [not_found=1] b\n"]
        #expect(try walk(files: files, "load substack sub\nload required d", [:]).asked == ["b", "d"])
        #expect(throws: TokenKeepError(.invalid, "")) {
            try walk(files: files, "load substack out\nload required d", [:])
        }
    }

    @Test func aResetForgetsWhatTheSubstackCounted() throws {
        let files = ["sub": "load required b\nload [unavailable=reset] c\n"]
        let answers: [String: Status] = ["a": .corrupt, "b": .locked, "c": .unavailable]
        let confined = try walk(files: files, "load required a\nload substack sub", answers)
        #expect(confined.asked == ["a", "b", "c"])
        #expect(confined.failure == .corrupt)
        let whole = try walk(files: files, "load required a\nload include sub", answers)
        #expect(whole.failure == nil)
    }
}
