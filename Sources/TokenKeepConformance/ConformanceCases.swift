import Glibc
import TokenKeepCore

/// The cases that ``Conformance`` runs, in order.
enum ConformanceCases {
    static let all: [Conformance.Case] = reading + values + names + changing + crowds

    private static let reading: [Conformance.Case] = [
        .init(name: "says how it is") { subject in
            if let problem = subject.module.report(subject.call).problem { throw problem }
        },
        .init(name: "an item that is not there is NOT_FOUND") { subject in
            try subject.require(.notFound, "loading it") {
                _ = try subject.module.load(subject.name("nobody", "has this"), subject.call)
            }
        },
        .init(name: "a deadline is kept") { subject in
            let (name, patience) = (try subject.name("late"), Deadline(milliseconds: 1000))
            _ = try? subject.module.load(name, CallContext(deadline: Deadline(milliseconds: 1)))
            try subject.require(!patience.hasPassed, "a load with 1 ms took longer than 1 s")
            // The abandoned load may still be running, and other calls fail until it ends. Wait for its end, at most 10
            // seconds.
            let end = Deadline(milliseconds: 10_000)
            while !subject.module.mayAnswer, !end.hasPassed { ShortPause.wait(milliseconds: 10) }
            try subject.require(subject.module.mayAnswer, "after that it answers no more")
        },
    ]

    private static let values: [Conformance.Case] = [
        .init(name: "a saved secret is loaded") { try roundTrip($0, Array("a token".utf8)) },
        .init(name: "an empty secret stays empty") { try roundTrip($0, []) },
        .init(name: "all 256 bytes come back") { try roundTrip($0, Array(0...255) + [0x0A]) },
        .init(name: "a text in UTF-8 with line ends comes back") {
            try roundTrip($0, Array("\nschlüssel\r\n🔑\n".utf8))
        },
        .init(name: "what is too large is refused, never cut") { subject in
            let name = try subject.name("large")
            var before = Array("before".utf8)
            try subject.save(name, before)
            for size in [4096, 65_536, 65_537, Limits.secret] {
                let secret = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
                if (try? subject.save(name, secret)) != nil { before = secret }
                try subject.require(
                    try subject.load(name) == before,
                    "after a save of \(size) bytes there is neither that nor what was there before")
            }
        },
        .init(name: "metadata comes back") { subject in
            let name = try subject.name("metadata", "ann")
            let attributes = try ItemAttributes([("client", "näme"), ("b.c-d_9", "")])
            guard subject.keepsMetadata else {
                try refusesLevels(subject, name)
                throw Conformance.Finding.notApplicable("it does not say that it keeps metadata")
            }
            try subject.save(
                SaveRequest(
                    name: name, secret: SecretBytes("x"), accessLevel: .whenUnlocked, label: "a läbel = 1",
                    attributes: attributes, expiresAt: UnixTime(2_000_000_000)))
            guard let found = try subject.item(name)?.details else {
                throw Conformance.Finding.fault("it is not there")
            }
            try subject.require(found.label == "a läbel = 1", "the label is another")
            try subject.require(found.attributes == attributes, "the attributes are others")
            try subject.require(found.accessLevel == .whenUnlocked, "the level is another")
            try subject.require(found.expiresAt == UnixTime(2_000_000_000), "the expiry is another")
            try subject.require(found.version != 0, "it has no version")
        },
    ]

    /// Checks that a module refuses, with ``Status/policy``, a level that it would lose.
    private static func refusesLevels(_ subject: ConformanceSubject, _ name: ItemName) throws {
        try subject.save(name, [1])
        try subject.require(.policy, "saving a level that it does not keep") {
            try subject.save(SaveRequest(name: name, secret: SecretBytes("x"), accessLevel: .whenUnlocked))
        }
    }

    private static func roundTrip(_ subject: ConformanceSubject, _ secret: [UInt8]) throws {
        let name = try subject.name("example.com", "ann")
        try subject.save(name, secret)
        let loaded = try subject.load(name)
        try subject.require(loaded != nil, "the saved item is not there")
        try subject.require(loaded == secret, "another secret came back")
    }

    private static let names: [Conformance.Case] = [
        .init(name: "names are told apart byte by byte") { subject in
            let parts = [
                ("a", "bc"), ("ab", "c"), ("abc", ""), ("a", "BC"), ("a/b", "c"), ("a", "b/c"), ("é", "e"),
                ("e\u{301}", "e"), ("a", "."), ("a", ".."), ("a", " b"), ("a", "b "), ("a=b", "c"), ("a", "-n"),
            ]
            let names = try parts.map { try subject.name($0.0, $0.1) }
            for (index, name) in names.enumerated() { try subject.save(name, [UInt8(index)]) }
            for (index, name) in names.enumerated() {
                try subject.require(try subject.load(name) == [UInt8(index)], "\(name) is another item")
            }
        },
        .init(name: "the longest names are kept") { subject in
            let long = String(repeating: "n", count: Limits.service)
            let dots = String(repeating: ".", count: Limits.service)
            let names = try [
                subject.name(long, long), subject.name(long, String(long.dropLast()) + "m"), subject.name(dots, dots),
            ]
            for (index, name) in names.enumerated() { try subject.save(name, [UInt8(index)]) }
            for (index, name) in names.enumerated() {
                try subject.require(try subject.load(name) == [UInt8(index)], "item \(index) is another")
            }
        },
        .init(name: "namespaces are apart") { subject in
            let (here, there) = (try subject.name("apart"), try subject.name("apart", in: subject.namespace + "-2"))
            try subject.save(here, [1])
            try subject.require(try subject.load(there) == nil, "another namespace sees it")
            try subject.save(there, [2])
            try subject.clear(there)
            try subject.require(try subject.load(here) == [1], "a clear in another namespace took it")
        },
        .init(name: "a list names what is there") { subject in
            let names = try [("one", "a"), ("one", "b"), ("two", "a")].map { try subject.name($0.0, $0.1) }
            for name in names { try subject.save(name, [1]) }
            try subject.save(subject.name("one", "c", in: subject.namespace + "-2"), [1])
            func list(_ service: String?) throws -> Set<ItemName> {
                do throws(TokenKeepError) {
                    let listing = try subject.module.list(
                        namespace: subject.namespace, service: service, subject.call)
                    if let problem = listing.problem { throw problem }
                    return Set(listing.items.map(\.name))
                } catch {
                    guard error.status != .unsupported else {
                        throw Conformance.Finding.notApplicable("it lists nothing")
                    }
                    throw error
                }
            }
            try subject.require(try list(nil) == Set(names), "all services: another list than what was saved")
            try subject.require(try list("one") == Set(names.prefix(2)), "one service: another list")
            try subject.clear(names[0])
            try subject.require(try list("one") == [names[1]], "what was cleared is still listed")
        },
    ]

    private static let changing: [Conformance.Case] = [
        .init(name: "a save replaces what was there") { subject in
            let name = try subject.name("replaced")
            let first = try subject.save(name, [1])
            let second = try subject.save(name, [2, 2, 2])
            try subject.require(try subject.load(name) == [2, 2, 2], "the older secret came back")
            try subject.require(first != second, "its version is the same")
            try subject.require(try subject.save(name, [1]) == first, "the same item has another version")
        },
        .init(name: "a save tells the version of what comes back") { subject in
            let name = try subject.name("version")
            let request = try SaveRequest(
                name: name, secret: SecretBytes("x"), label: "a label", attributes: ItemAttributes([("client", "x")]))
            let version = try subject.save(request)
            try subject.require(try subject.item(name)?.details.version == version, "a load tells another version")
        },
        .init(name: "a clear removes, and tells whether there was something") { subject in
            let name = try subject.name("cleared")
            try subject.save(name, [1])
            try subject.require(try subject.clear(name), "the first clear says that nothing was there")
            try subject.require(try subject.load(name) == nil, "it is still there")
            try subject.require(try !subject.clear(name), "the second clear says that something was there")
        },
        .init(name: "conditions are judged") { subject in
            let name = try subject.name("conditions")
            try subject.save(name, [1], if: .absent)
            try subject.require(.duplicate, "saving a new item over it") { try subject.save(name, [2], if: .absent) }
            let version = try subject.item(name)?.details.version ?? 0
            try subject.require(.conflict, "saving over another version") {
                try subject.save(name, [2], if: .version(version &+ 1))
            }
            try subject.require(.conflict, "clearing another version") {
                try subject.clear(name, ifVersion: version &+ 1)
            }
            try subject.require(try subject.load(name) == [1], "it changed nevertheless")
            try subject.save(name, [3], if: .version(version))
            try subject.require(try subject.load(name) == [3], "it did not change")
        },
    ]

    private static let crowds: [Conformance.Case] = [
        .init(name: "threads get their own answers") { subject in
            try subject.save(subject.name("thread 0"), [0])  // fails here if nothing can be saved
            let failures = MutexGuarded<[any Error]>([])
            let threads = (0..<4).map { number in
                ConformanceThread {
                    do {
                        let name = try subject.name("thread \(number)")
                        for round in 0..<5 {
                            let secret = [UInt8(number), UInt8(round)]
                            try subject.save(name, secret)
                            try subject.require(try subject.load(name) == secret, "a thread got another answer")
                        }
                    } catch {
                        failures.withLock { $0.append(error) }
                    }
                }
            }
            for thread in threads { thread.join() }
            if let failure = failures.withLock({ $0.first }) { throw failure }
        }
    ]
}

/// A thread that its creator must join. If no thread can be started, the body runs on the creator's thread.
private final class ConformanceThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    private var thread = pthread_t()
    private let isStarted: Bool

    init(_ body: @escaping @Sendable () -> Void) {
        let retained = Unmanaged.passRetained(Body(body))
        isStarted =
            pthread_create(
                &thread, nil,
                { argument in
                    if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
                    return nil
                }, retained.toOpaque()) == 0
        if !isStarted { retained.takeRetainedValue().run() }
    }

    func join() { if isStarted { pthread_join(thread, nil) } }
}
