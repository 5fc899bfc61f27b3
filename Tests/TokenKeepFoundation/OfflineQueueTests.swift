import Foundation
import FoundationNetworking
import Glibc
import TestSupport
import Testing
import TokenKeep
import TokenKeepEngine

@testable import TokenKeepFoundation

/// Requests that wait for a connection.
@Suite(.timeLimit(.minutes(20))) struct OfflineQueueTests {
    private let world = FoundationWorld()
    private let server: KeyServer

    init() throws { server = try KeyServer() }

    private func queue(_ session: TokenSession) throws -> OfflineQueue {
        OfflineQueue(client: try world.client(session, server.loopback))
    }

    /// The outcomes that a queue delivered.
    private actor Delivered {
        private(set) var outcomes: [String] = []

        func add(_ outcome: OfflineQueue.Outcome) {
            switch outcome {
            case .accepted(let body, _): outcomes.append("accepted " + String(decoding: body, as: UTF8.self))
            case .refused(let body, let response):
                outcomes.append("refused \(response.statusCode) " + String(decoding: body, as: UTF8.self))
            case .expired: outcomes.append("expired")
            }
        }
    }

    @Test func requestsAreSentInOrderWithTheTokenAndTheirKeys() async throws {
        let queue = try queue(await world.signedIn())
        var request = try server.request("one")
        for (name, value) in [
            ("Authorization", "Bearer forged"), ("Cookie", "a=b"), ("X-Device-ID", "forged"), ("X-Kept", "kept"),
        ] { request.setValue(value, forHTTPHeaderField: name) }
        request.setValue("key-1", forHTTPHeaderField: "Idempotency-Key")
        let first = try await queue.add(request)
        let second = try await queue.add(server.request("two"))
        #expect(first.idempotencyKey == "key-1")
        #expect(try await queue.requests == [first, second])
        let delivered = Delivered()
        #expect(try await queue.send { _, outcome in await delivered.add(outcome) } == 2)
        #expect(await delivered.outcomes == ["accepted {}", "accepted {}"])
        #expect(try await queue.requests.isEmpty)
        #expect(server.done == ["one", "two"])
        let sent = server.loopback.requests
        #expect(sent.map { $0.headers["authorization"] } == ["Bearer access-1", "Bearer access-1"])
        #expect(sent.map { $0.headers["idempotency-key"] } == ["key-1", second.idempotencyKey])
        #expect(sent[0].headers["x-kept"] == "kept")
        #expect(sent[0].headers["cookie"] == nil)
        #expect(sent[0].headers["x-device-id"] == nil)
    }

    @Test func aRequestOutlivesItsQueueAndALongBodyIsWhole() async throws {
        let body = String(repeating: "0123456789abcdef", count: 180_000)
        let session = try await world.signedIn()
        let added = try await queue(session).add(server.request(body))
        #expect(added.byteCount > body.utf8.count)
        let queue = try queue(await world.session())
        #expect(try await queue.requests == [added])
        try await queue.send { _, _ in }
        #expect(server.done == [body])
        // Nothing is left of it in the vault.
        #expect(try await world.store().list(service: QueueStorage.service).items.isEmpty)
    }

    @Test func nothingIsReadableInTheFiles() async throws {
        let queue = try queue(await world.signedIn())
        var request = try server.request("a body that is sealed")
        request.setValue("a header that is sealed", forHTTPHeaderField: "X-Header")
        try await queue.add(request)
        let vault = world.directory.path + "/vault"
        let files = try FileManager.default.subpathsOfDirectory(atPath: vault)
        for file in files {
            let bytes = world.directory.read("vault/" + file) ?? []
            let text = String(decoding: bytes, as: UTF8.self)
            for part in ["that is sealed", "orders", "127.0.0.1"] { #expect(!text.contains(part), "\(file)") }
        }
        #expect(files.count > 1)
    }

    @Test func aFailureOfTheNetworkKeepsTheRequestAndTheServerDoesItOnce() async throws {
        let queue = try queue(await world.signedIn())
        for body in ["one", "two"] { try await queue.add(server.request(body)) }
        // The client repeats three times by itself.
        server.loseAnswers(4)
        await #expect(throws: URLError.self) { try await queue.send { _, _ in Issue.record("delivered") } }
        #expect(try await queue.requests.count == 2)
        try await queue.send { _, _ in }
        #expect(server.done == ["one", "two"])
        #expect(Set(server.loopback.requests.prefix(5).map { $0.headers["idempotency-key"] }).count == 1)
    }

    @Test(arguments: [400, 403, 404, 409, 410, 422]) func aRefusalLeavesTheQueue(_ status: Int) async throws {
        let queue = try queue(await world.signedIn())
        try await queue.add(server.request("one"))
        server.answer(status)
        let delivered = Delivered()
        #expect(try await queue.send { _, outcome in await delivered.add(outcome) } == 1)
        #expect(await delivered.outcomes == ["refused \(status) no"])
        #expect(try await queue.requests.isEmpty)
    }

    @Test(arguments: [401, 408, 425, 429, 500, 503]) func anotherAttemptMayHelp(_ status: Int) async throws {
        let queue = try queue(await world.signedIn())
        try await queue.add(server.request("one"))
        server.answer(status)
        let error = await #expect(throws: APIError.self) { try await queue.send { _, _ in } }
        switch status {
        case 401: #expect(error == .authenticationRequired)
        case 429: #expect(error == .rateLimited(RateLimit()))
        default: #expect(error == .serverError(statusCode: status))
        }
        #expect(try await queue.requests.count == 1)
        server.answer(200)
        try await queue.send { _, _ in }
        #expect(server.done == ["one"])
    }

    @Test func aRefusedTokenIsRenewedOnce() async throws {
        let server = try LoopbackServer { request in
            .init(status: request.headers["authorization"] == "Bearer access-2" ? 200 : 401)
        }
        let queue = OfflineQueue(client: try world.client(await world.signedIn(), server))
        for _ in 0..<3 { try await queue.add(server.request("/", method: "POST")) }
        #expect(try await queue.send { _, _ in } == 3)
        #expect(await world.authority.refreshed == ["refresh-1"])
        #expect(server.requests.count == 4)
    }

    @Test func aRequestThatIsNotDeliveredStays() async throws {
        let queue = try queue(await world.signedIn())
        try await queue.add(server.request("one"))
        await #expect(throws: Missing.self) { try await queue.send { _, _ in throw Missing("disk") } }
        #expect(try await queue.send { _, _ in } == 1)
        #expect(server.done == ["one"])
    }

    @Test func aRequestWhoseTimeIsOverIsNotSent() async throws {
        let now = Guarded(Date(timeIntervalSince1970: 1_800_000_000))
        let client = try world.client(await world.signedIn(), server.loopback)
        let queue = OfflineQueue(client: client, clock: { now.withLock { $0 } }, onStep: {})
        try await queue.add(server.request("short"), lifetime: .seconds(60))
        try await queue.add(server.request("long"))
        now.withLock { $0 += 60 }
        let delivered = Delivered()
        try await queue.send { _, outcome in await delivered.add(outcome) }
        #expect(await delivered.outcomes == ["expired", "accepted {}"])
        #expect(server.done == ["long"])
        for lifetime in [Duration.zero, .seconds(-1), .seconds(1) - .nanoseconds(1), .seconds(31 * 86_400 + 1)] {
            await #expect(throws: OfflineQueue.LimitError.lifetime) {
                try await queue.add(server.request(""), lifetime: lifetime)
            }
        }
    }

    @Test func aLogoutEmptiesTheQueueButForRequestsThatOutliveIt() async throws {
        let session = try await world.signedIn()
        let queue = try queue(session)
        try await queue.add(server.request(String(repeating: "long", count: 20_000)))
        let kept = try await queue.add(server.request("kept"), outlivesLogout: true)
        #expect(try await session.end().failedHooks.isEmpty)
        // Within the call.
        #expect(try await world.store().list(service: QueueStorage.service).items.map(\.name.account) == [kept.id])
        await #expect(throws: APIError.authenticationRequired) { try await queue.add(server.request("late")) }
        await #expect(throws: APIError.authenticationRequired) { try await queue.send { _, _ in } }
        let next = try self.queue(await world.signedIn())
        try await next.send { _, _ in }
        #expect(server.done == ["kept"])
    }

    @Test func aLogoutByAnotherProgramEmptiesTheQueueAlsoAfterANewSignIn() async throws {
        let queue = try queue(await world.signedIn())
        try await queue.add(server.request("of the earlier session"))
        // Its object has no queue.
        try await world.session().end()
        _ = try await world.signedIn()
        try await queue.add(server.request("new"))
        try await queue.send { _, _ in }
        #expect(server.done == ["new"])
    }

    @Test func aSignInWithoutALogoutKeepsTheQueue() async throws {
        let session = try await world.session()
        try await session.begin(.guest, response: .init(#"{"access_token":"visit","expires_in":900}"#))
        let queue = try queue(session)
        try await queue.add(server.request("of the guest"))
        try await session.begin(.user, response: .init(Authority.tokens(1, 3600)))
        try await queue.send { _, _ in }
        #expect(server.done == ["of the guest"])
        #expect(server.loopback.tokens == ["Bearer access-1"])
    }

    /// The server refuses the guest's token, or the guest's time is over.
    @Test(arguments: [900, 0]) func theEndOfAGuestKeepsTheQueue(_ lifetime: Int) async throws {
        let session = try await world.session()
        try await session.begin(.guest, response: .init(#"{"access_token":"visit","expires_in":\#(lifetime)}"#))
        let queue = try queue(session)
        try await queue.add(server.request("of the guest"))
        server.answer(401)
        await #expect(throws: APIError.authenticationRequired) { try await queue.send { _, _ in } }
        #expect(server.loopback.requests.count == (lifetime == 0 ? 0 : 1))
        #expect(try await session.state == .signedOut)
        #expect(try await queue.requests.count == 1)
        server.answer(200)
        let next = try self.queue(await world.signedIn())
        try await next.send { _, _ in }
        #expect(server.done == ["of the guest"])
    }

    @Test func aLogoutEndsTheRequestThatIsBeingSent() async throws {
        let gate = Gate()
        let silent = try LoopbackServer.behind(gate)
        defer { gate.open() }
        let session = try await world.signedIn()
        let queue = OfflineQueue(client: try world.client(session, silent))
        for _ in 0..<2 { try await queue.add(silent.request("/", method: "POST")) }
        let sending = Task { try await queue.send { _, _ in Issue.record("delivered") } }
        await gate.wait(for: 1)
        try await session.end()
        await #expect(throws: APIError.authenticationRequired) { try await sending.value }
        #expect(silent.requests.count == 1)
        #expect(try await queue.requests.isEmpty)
    }

    /// Sends the requests of a session that ends meanwhile: the client sees the end, or the queue that the request left.
    private func sendNothing(_ queue: OfflineQueue) async throws {
        do {
            #expect(try await queue.send { _, _ in Issue.record("delivered") } == 0)
        } catch APIError.authenticationRequired {}
    }

    @Test func aRepeatDoesNotGoOutUnderTheNextSignIn() async throws {
        let client = try world.client(await world.signedIn(), server.loopback) { [world] in
            try await world.changeSessions()
        }
        let queue = OfflineQueue(client: client)
        try await queue.add(server.request("one"))
        server.loseAnswers(1)
        try await sendNothing(queue)
        #expect(server.loopback.tokens == ["Bearer access-1"])
    }

    @Test func aRefusedTokenIsNotReplacedByThatOfTheNextSignIn() async throws {
        let gate = Gate()
        let server = try LoopbackServer { request in
            guard request.headers["authorization"] == "Bearer access-1" else { return .init() }
            gate.pass()
            return .init(status: 401)
        }
        defer { gate.open() }
        let queue = OfflineQueue(client: try world.client(await world.signedIn(), server))
        try await queue.add(server.request("/", method: "POST"))
        let sending = Task { try await sendNothing(queue) }
        await gate.wait(for: 1)
        try await world.changeSessions()
        gate.open()
        try await sending.value
        #expect(server.tokens == ["Bearer access-1"])
    }

    @Test func eachAccountHasItsQueue() async throws {
        let (ann, bob) = (try queue(await world.signedIn("ann")), try queue(await world.signedIn("bob")))
        try await ann.add(server.request("ann's"))
        try await bob.add(server.request("bob's"))
        try await ann.send { _, _ in }
        #expect(server.done == ["ann's"])
        try await ann.add(server.request("ann's"))
        try await ann.client.session.end()
        #expect(try await bob.requests.count == 1)
        try await bob.send { _, _ in }
        #expect(server.done == ["ann's", "bob's"])
    }

    @Test func aCancelledRequestIsNotSent() async throws {
        let queue = try queue(await world.signedIn())
        let requests = try (0..<4).map { try server.request("\($0)") }
        let first = try await queue.add(requests[0]).id
        let second = try await queue.add(requests[1]).id
        try await queue.add(requests[2])
        let last = try await queue.add(requests[3]).id
        #expect(try await queue.cancel(second))
        #expect(try await !queue.cancel(second))
        #expect(try await !queue.cancel("unknown"))
        try await queue.send { request, _ in
            guard request.id == first else { return }
            let isCancelled = try await queue.cancel(last)
            #expect(isCancelled)
        }
        #expect(server.done == ["0", "2"])
        for number in 0..<3 { try await queue.add(server.request("\(number)")) }
        #expect(try await queue.cancelAll() == 3)
        #expect(try await queue.requests.isEmpty)
    }

    @Test func theRequestThatIsBeingSentIsCancelledAndTheNextOneSent() async throws {
        let gate = Gate()
        let silent = try LoopbackServer { request in
            if request.path == "/first" { gate.pass() }
            return .init()
        }
        defer { gate.open() }
        let queue = OfflineQueue(client: try world.client(await world.signedIn(), silent))
        let first = try await queue.add(silent.request("/first", method: "POST"))
        try await queue.add(silent.request("/second", method: "POST"))
        let sending = Task { try await queue.send { _, _ in } }
        await gate.wait(for: 1)
        #expect(try await queue.cancel(first.id))
        #expect(try await sending.value == 1)
        #expect(silent.requests.map(\.path) == ["/first", "/second"])
    }

    @Test func aCancelledTaskKeepsTheRequest() async throws {
        let gate = Gate()
        let silent = try LoopbackServer.behind(gate)
        defer { gate.open() }
        let queue = OfflineQueue(client: try world.client(await world.signedIn(), silent))
        try await queue.add(silent.request("/", method: "POST"))
        let sending = Task { try await queue.send { _, _ in } }
        await gate.wait(for: 1)
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(try await queue.requests.count == 1)
    }

    @Test func theProgressIsReported() async throws {
        let queue = try queue(await world.signedIn())
        var progress = queue.progress.makeAsyncIterator()
        let first = try await queue.add(server.request("one"))
        let second = try await queue.add(server.request("two"))
        try await queue.send { _, _ in }
        let (one, both) = (second.byteCount, first.byteCount + second.byteCount)
        for expected in [(1, first.byteCount, 0), (2, both, 0), (1, one, 1), (0, 0, 2)] {
            let (waiting, bytes, left) = expected
            let next = await progress.next()
            #expect(next == OfflineQueue.Progress(waiting: waiting, byteCount: bytes, left: left))
        }
    }

    @Test func theLimitsHold() async throws {
        let queue = try queue(await world.signedIn())
        let longest = String(repeating: "x", count: QueueLimits.bytes - 1000)
        try await queue.add(server.request(longest))
        await #expect(throws: OfflineQueue.LimitError.tooManyBytes) { try await queue.add(server.request(longest)) }
        try await queue.cancelAll()
        for number in 0..<QueueLimits.requests { try await queue.add(server.request("\(number)")) }
        await #expect(throws: OfflineQueue.LimitError.tooManyRequests) { try await queue.add(server.request("more")) }
        #expect(try await queue.cancelAll() == 1_000)
        var stream = try server.loopback.request("/", method: "PUT")
        stream.httpBodyStream = InputStream(data: Data())
        await expect(.invalid) { [stream] in try await queue.add(stream) }
        let mail = URLRequest(url: try #require(URL(string: "mailto:ann@example.com")))
        await #expect(throws: APIError.invalidURL) { try await queue.add(mail) }
    }

    @Test func aLockedVaultKeepsTheQueue() async throws {
        let session = try await world.signedIn()
        let queue = try queue(session)
        try await queue.add(server.request("one"))
        try world.setPassword("horse")
        try await world.store().lock()
        await expect(.locked) { try await queue.add(server.request("two")) }
        await expect(.locked) { try await queue.send { _, _ in } }
        try await world.store().unlock(password: .init("horse"))
        try await queue.send { _, _ in }
        #expect(server.done == ["one"])
    }

    @Test func aDamagedRequestHoldsUpTheQueueUntilItIsCancelled() async throws {
        let queue = try queue(await world.signedIn())
        let first = try await queue.add(server.request("one"))
        try await queue.add(server.request("two"))
        let store = try world.store()
        let name = (QueueStorage.service, first.id)
        let attributes = try await store.list(service: name.0).items.first { $0.name.account == name.1 }?.attributes
        for damage in ["", "xyz", "\u{1}\0\0\0{}", "\u{7f}\0\0\0{}", "\u{f}\0\0\0{\"version\":1}   "] {
            let options = TokenStore.SaveOptions(attributes: attributes ?? [:])
            try await store.save(damage, service: name.0, account: name.1, options: options)
            await expect(.corrupt) { try await queue.send { _, _ in } }
        }
        #expect(try await queue.cancel(first.id))
        try await queue.send { _, _ in }
        #expect(server.done == ["two"])
    }

    /// AddressSanitizer ends the tests here: if many descriptors are open, Foundation's `Process`, which starts the
    /// keyring, reads past the end of a directory's entry.
    @Test(.enabled(if: dlsym(nil, "__asan_init") == nil)) func aMigrationLeavesTheRequestsInTheVault() async throws {
        let queue = try queue(await world.signedIn())
        try await queue.add(server.request("one"))
        try await world.store().save("secret", service: "other", account: "ann")
        let keyring = try PrivateKeyring()
        var configuration = StoreConfiguration(stackText: "any sufficient vault\nany required secret-service")
        configuration.vaultPath = world.directory.path + "/vault"
        configuration.busAddress = keyring.bus.address
        configuration.stackDirectories = .none
        let store = try Store(configuration)
        // The session and the other item alone.
        #expect(try store.transfer.migrate(from: "vault", to: "secret-service", isDryRun: true).moved == 2)
        #expect(
            try store.transfer.migrate(from: "vault", to: "secret-service", service: QueueStorage.service).moved == 0)
        try await queue.send { _, _ in }
        #expect(server.done == ["one"])
    }

    @Test func requestsThatAnotherProgramClearedAreNotSent() async throws {
        let queue = try queue(await world.signedIn())
        for body in ["one", "two"] { try await queue.add(server.request(body)) }
        #expect(try await world.store().clear(service: QueueStorage.service) == 2)
        #expect(try await queue.send { _, _ in } == 0)
        try await queue.add(server.request("three"))
        #expect(try await queue.send { _, _ in } == 1)
        #expect(server.done == ["three"])
    }

    @Test func aRequestThatLacksAPartIsNamedAndCanBeCancelled() async throws {
        let queue = try queue(await world.signedIn())
        let first = try await queue.add(server.request(String(repeating: "long", count: 20_000)))
        try await queue.add(server.request("two"))
        #expect(try await world.store().clear(service: QueueStorage.service, account: first.id + ".0"))
        let error = await #expect(throws: TokenKeepError.self) { try await queue.send { _, _ in } }
        #expect(error?.status == .corrupt)
        #expect(error?.message.contains(first.id) == true)
        #expect(try await queue.cancel(first.id))
        try await queue.send { _, _ in }
        #expect(server.done == ["two"])
    }

    @Test func aHeadThatCannotBeReadKeepsItsParts() async throws {
        let session = try await world.signedIn()
        let records = "vault/current/records/"
        let before = Set(world.directory.names(in: records))
        let body = String(repeating: "long", count: 20_000)
        try await queue(session).add(server.request(body))
        let added = world.directory.names(in: records).filter { !before.contains($0) }
        #expect(added.count == 2)
        let sizes = added.map { (name: records + $0, bytes: world.directory.read(records + $0) ?? []) }
        let head = try #require(sizes.min { $0.bytes.count < $1.bytes.count })
        world.directory.write(Array(repeating: 0, count: head.bytes.count), to: head.name)
        #expect(try await queue(world.session()).requests.isEmpty)
        world.directory.write(head.bytes, to: head.name)
        try await queue(world.session()).send { _, _ in }
        #expect(server.done == [body])
    }

    @Test func aForgedPlaceInTheOrderEndsNoProcessAndLosesNothing() async throws {
        let session = try await world.signedIn()
        let forged = try await queue(session).add(server.request("forged"))
        let store = try world.store()
        let items = try await store.list(service: QueueStorage.service).items
        var attributes = try #require(items.first).attributes
        func forge(_ place: UInt64) async throws -> OfflineQueue {
            attributes["sequence"] = String(place)
            let options = TokenStore.SaveOptions(attributes: attributes)
            try await store.save("", service: QueueStorage.service, account: forged.id, options: options)
            return try await queue(world.session())
        }
        let last = try await forge(.max - 1)
        await expect(.corrupt) { try await last.add(server.request("behind")) }
        let others = try await forge(.max)
        try await others.add(server.request("one"))
        try await others.send { _, _ in }
        #expect(server.done == ["one"])
    }
}
