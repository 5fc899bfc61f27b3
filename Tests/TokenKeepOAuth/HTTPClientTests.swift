import Glibc
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepOAuth

@Suite struct HTTPClientTests {
    private let server: LyingServer

    init() throws { server = try LyingServer() }

    private func fault(of request: HTTPRequest) -> HTTPFailure? {
        do throws(HTTPFailure) {
            let response = try HTTPClient.send(request)
            Issue.record("the server answered \(response.status)")
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: ["http", "https"])
    func aFormArrivesOnceWithItsHeadersAndTheAnswerIsRead(name: String) throws {
        var request = try server.request("/echo", on: name, body: "token=secret%20")
        request.headers = [try HTTPRequest.header("Authorization", SecretBytes("Bearer x"))]
        let response = try HTTPClient.send(request)
        let text = response.body.utf8String ?? ""
        #expect(response.status == 200)
        #expect(response.contentType == "application/json")
        #expect(text.contains(#""authorization": "Bearer x""#))
        #expect(text.contains(#""content-type": "application/x-www-form-urlencoded""#))
        #expect(text.contains(#""body": "token=secret%20""#))
        #expect(!text.contains("expect"))
        #expect(try server.requests == ["\(name) POST /echo token=secret%20 Bearer x"])
    }

    @Test func aRequestWithoutABodyIsAGet() throws {
        _ = try HTTPClient.send(server.request("/echo", body: nil))
        #expect(try server.requests == ["http GET /echo"])
    }

    @Test func aRedirectIsAnAnswerAndIsNotFollowed() throws {
        #expect(try HTTPClient.send(server.request("/redirect")).status == 302)
        #expect(try server.requests.count == 1)
    }

    @Test func aCookieOfTheServerIsNotSentBack() throws {
        #expect(try HTTPClient.send(server.request("/cookie")).status == 200)
        let echo = try HTTPClient.send(server.request("/echo", body: nil)).body.utf8String ?? ""
        #expect(echo.contains(#""method": "GET""#) && !echo.contains("cookie"))
    }

    @Test func headersOfTheAnswerAreRead() throws {
        let response = try HTTPClient.send(server.request("/headers"))
        #expect(response.status == 503)
        #expect(response.retryAfter == "7")
        #expect(response.date == "Thu, 01 Jan 2026 00:00:00 GMT")
    }

    @Test func anAnswerOf256KiBIsReadAndALongerOneIsRefused() throws {
        #expect(try HTTPClient.send(server.request("/limit")).body.count == HTTPClient.longestAnswer)
        let request = try server.request("/huge")
        let failure = try #require(fault(of: request))
        #expect(failure.error.status == .unavailable)
        #expect(failure.error.message == "the answer of \(request.address.origin) is longer than 256 KiB")
        #expect(failure.wasSent)
    }

    @Test(arguments: [
        "gzip", "x-gzip", "deflate", "raw", "br", "zstd", "twice", "unnamed", "identity", "charset", "not-gzip",
        "not-br",
        "not-deflate", "not-zstd",
    ])
    func anEncodedAnswerIsDecodedAndAnyOtherStaysAsItIs(encoding: String) throws {
        let text = try HTTPClient.send(server.request("/encoded-\(encoding)")).body.utf8String
        #expect(text == #"{"encoded": "\#(String(repeating: "x", count: 64))"}"#)
    }

    @Test func theLimitOfAnAnswerIsThatOfItsDecodedBytes() throws {
        #expect(try HTTPClient.send(server.request("/encoded-limit")).body.count == HTTPClient.longestAnswer)
        let failure = try #require(fault(of: server.request("/encoded-bomb")))
        #expect(failure.error.message.hasSuffix("is longer than 256 KiB") && failure.wasSent)
    }

    /// Its bytes are kept, as those of every answer that cannot be read.
    @Test func anEncodedAnswerThatWasCutStaysAsItIs() throws {
        let body = try HTTPClient.send(server.request("/encoded-cut")).body
        #expect(body.withUnsafeBytes { $0.starts(with: [0x1F, 0x8B]) })
    }

    /// The length of the plain text before compression, and chunks without an end.
    @Test(arguments: ["gzip-long", "gzip-chunk", "mark-chunk", "plain-chunk"])
    func aWholeAnswerIsTakenHoweverItIsFramed(framing: String) throws {
        let body = try HTTPClient.send(server.request("/framed-\(framing)")).body.utf8String
        #expect(body?.hasSuffix(#"{"access_token": "a"}"#) == true)
    }

    @Test func theBytesOfACutAnswerAreKept() throws {
        #expect(try #require(fault(of: server.request("/half"))).cutAnswer == SecretBytes("half"))
        #expect(try #require(fault(of: server.request("/cuts"))).cutAnswer == nil)
    }

    @Test func theHeadersOfAnInterimAnswerAreNotThoseOfTheAnswer() throws {
        let response = try HTTPClient.send(server.request("/hints"))
        #expect(response.status == 200 && response.body.utf8String == "{}")
        #expect(response.date == "" && response.retryAfter == "" && response.contentType == "application/json")
    }

    @Test func aServerMaySpeakHTTP2Alone() throws {
        let response = try HTTPClient.send(server.request("/", on: "http2", body: "token=x"))
        #expect(response.status == 200)
        #expect(response.contentType == "application/json")
        #expect(response.body.utf8String == #"{"version": 2}"#)
        #expect(try server.requests == ["http2 POST / token=x"])
    }

    @Test(arguments: ["/cuts", "/half"])
    func aConnectionThatIsCutAfterTheRequestMeansThatItWasSent(path: String) throws {
        let failure = try #require(fault(of: server.request(path)))
        #expect(failure.error.status == .unavailable)
        #expect(failure.wasSent)
        #expect(try server.requests.count == 1)
    }

    @Test func aServerThatDropsAConnectionAfterTheAnswerGetsEachRequestOnce() throws {
        for _ in 0..<3 { #expect(try HTTPClient.send(server.request("/keeps")).status == 200) }
        #expect(try server.requests == Array(repeating: "http POST /keeps a=1", count: 3))
    }

    @Test(arguments: ["expired", "selfsigned", "otherhost"])
    func aServerWithAWrongCertificateGetsNothing(name: String) throws {
        var request = try server.request("/echo", on: name)
        request.whenSending = { () throws(TokenKeepError) in Issue.record("it was about to be sent") }
        let failure = try #require(fault(of: request))
        #expect(failure.error.status == .unavailable)
        #expect(!failure.wasSent)
        #expect(try server.requests.isEmpty)
    }

    @Test func aServerOfAnUnknownAuthorityGetsNothing() throws {
        var request = try server.request("/echo", on: "https")
        request.caFile = nil
        #expect(try #require(fault(of: request)).wasSent == false)
        #expect(try server.requests.isEmpty)
    }

    @Test func aClosedPortMeansThatNothingWasSent() throws {
        let request = HTTPRequest(try WebAddress("http://127.0.0.1:1/"), deadline: .patient)
        let failure = try #require(fault(of: request))
        #expect(failure.error.status == .unavailable)
        #expect(!failure.wasSent)
    }

    @Test func nothingIsSentIfTheLastStepBeforeItFails() throws {
        var request = try server.request("/echo")
        request.whenSending = { () throws(TokenKeepError) in throw TokenKeepError(.io, "no space") }
        let failure = try #require(fault(of: request))
        #expect(failure.error.status == .io)
        #expect(!failure.wasSent)
        #expect(try server.requests.isEmpty)
    }

    @Test func aCancellationWakesARequestThatWaitsForItsAnswer() throws {
        let failure = try #require(fault(of: requestThatIsCancelledAfterItsArrival("/hangs")))
        #expect(failure.error.status == .cancelled)
        #expect(failure.wasSent)
    }

    @Test func anAnswerThatMustBeKeptIsWaitedForInSpiteOfCancellationAndDeadline() throws {
        #expect(mkfifo(server.directory.path + "/gate", 0o600) == 0)
        var request = try requestThatIsCancelledAfterItsArrival("/waits")
        request.keepsAnswer = true
        #expect(try HTTPClient.send(request).status == 400)
        #expect(throws: TokenKeepError.self) { try request.deadline.checkCancellation() }
    }

    /// A request that another thread cancels when the server has it. The path `/waits` is answered then.
    private func requestThatIsCancelledAfterItsArrival(_ path: String) throws -> HTTPRequest {
        let cancellation = Cancellation()
        let server = server
        let hasStarted = DetachedThread.start {
            while (try? server.requests.isEmpty) ?? true { sched_yield() }
            cancellation.cancel()
            if path == "/waits" { close(open(server.directory.path + "/gate", O_WRONLY)) }
        }
        #expect(hasStarted == 0)
        return try server.request(path, cancellation: cancellation)
    }

    @Test func aCancellationDuringTheLastStepSendsNothing() throws {
        let cancellation = Cancellation()
        for keepsAnswer in [false, true] {
            var request = try server.request("/echo", cancellation: cancellation)
            request.keepsAnswer = keepsAnswer
            request.whenSending = { () throws(TokenKeepError) in cancellation.cancel() }
            let failure = try #require(fault(of: request))
            #expect(failure.error.status == .cancelled && !failure.wasSent)
        }
        #expect(try server.requests.isEmpty)
    }

    @Test func aCancelledRequestIsNotSent() throws {
        let cancellation = Cancellation()
        cancellation.cancel()
        let failure = try #require(fault(of: server.request("/echo", cancellation: cancellation)))
        #expect(failure.error.status == .cancelled)
        #expect(!failure.wasSent)
    }
}
