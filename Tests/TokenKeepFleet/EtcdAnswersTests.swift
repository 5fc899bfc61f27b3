import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepFleet

@Suite("Answers of etcd's gateway")
struct EtcdAnswersTests {
    private func failure(_ status: UInt32, _ body: String) -> RegistryFailure {
        let message = Array(body.utf8).withUnsafeBytes { EtcdAnswers.message($0) }
        return EtcdAnswers.failure(status, message, from: "https://etcd:2379", isAdmin: false)
    }

    /// Both forms of the gateway: until 3.4, and since.
    private func bodies(_ message: String, _ code: Int) -> [String] {
        [
            #"{"error":"\#(message)","message":"\#(message)","code":\#(code)}"#,
            #"{"code":\#(code), "message":"\#(message)"}"#,
            #"{"error":{"grpc_code":\#(code),"http_code":503,"message":"\#(message)"}}"#,
        ]
    }

    @Test("each failure has its kind, its words and a remedy")
    func kinds() {
        let cases: [(UInt32, String, RegistryFailure.Kind, Status, String)] = [
            (
                400, "etcdserver: authentication failed, invalid user ID or password", .denied, .denied,
                "https://etcd:2379 refuses the user or the password"
            ),
            (400, "etcdserver: user name is empty", .denied, .denied, "https://etcd:2379 wants a user and a password"),
            (
                403, "etcdserver: permission denied", .denied, .denied,
                "https://etcd:2379 gives this user no right to these keys"
            ),
            (
                429, "etcdserver: mvcc: database space exceeded", .full, .unavailable,
                "the registry at https://etcd:2379 is full and takes no changes but removals"
            ),
            (404, "etcdserver: requested lease not found", .leaseGone, .unavailable, "the lease has ended"),
            (
                400, "etcdserver: mvcc: required revision has been compacted", .compacted, .unavailable,
                "the revision is gone"
            ),
            (
                503, "etcdserver: request timed out", .away, .unavailable,
                "https://etcd:2379 answered 503: etcdserver: request timed out"
            ),
            (
                429, "grpc: received message larger than max (3145738 vs. 2097152)", .fault, .unavailable,
                "https://etcd:2379 answered 429: grpc: received message larger than max (3145738 vs. 2097152)"
            ),
        ]
        for (status, words, kind, meaning, message) in cases {
            for body in bodies(words, 3) {
                let found = failure(status, body)
                #expect(
                    found.kind == kind && found.error.status == meaning && found.error.message == message, "\(body)")
            }
        }
        let named = failure(400, "CommonName of client sending a request against gateway will be ignored\n")
        #expect(named.kind == .certificate)
        #expect(
            named.error.message
                == "the client certificate has a common name, and etcd's gateway refuses every call with it")
        #expect(EtcdAnswers.failure(404, "", from: "s", isAdmin: true).error.message == "s answered 404")
    }

    @Test("another endpoint is asked after an answer that is not etcd's, and after an outage alone")
    func otherEndpoints() {
        let strange: [(UInt32, String)] = [
            (404, "404 page not found"), (302, ""), (301, "<a href=login>"), (401, "<html>"), (403, ""),
            (407, "Proxy Authentication Required"), (400, "Client sent an HTTP request to an HTTPS server."), (100, ""),
            (503, "etcdserver: leader changed"), (408, "etcdserver: request timed out"), (502, "bad gateway"),
        ]
        for (status, message) in strange {
            #expect(EtcdAnswers.isOutage(status, message), "\(status) \(message)")
            let found = EtcdAnswers.failure(status, message, from: "s", isAdmin: false)
            #expect(found.kind == .away, "\(status) \(message)")
            let isNoRegistry = status < 500 && !message.starts(with: "etcdserver")
            #expect((found.error.hint == EtcdAnswers.addressHint) == isNoRegistry, "\(status) \(message)")
        }
        let own: [(UInt32, String)] = [
            (404, "etcdserver: requested lease not found"), (400, "etcdserver: duplicate key given in txn request"),
            (403, "etcdserver: permission denied"), (429, "etcdserver: mvcc: database space exceeded"),
            (507, "etcdserver: mvcc: database space exceeded"), (400, "authentication is not enabled"),
            (429, "grpc: received message larger than max (3 vs. 2)"),
            (400, "CommonName of client sending a request against gateway will be ignored"),
        ]
        for (status, message) in own { #expect(!EtcdAnswers.isOutage(status, message), "\(status) \(message)") }
    }

    @Test("each user who cannot be listed is named, in one error")
    func unlistedUsers() {
        var unlisted = UnlistedUsers()
        #expect(unlisted.problem == nil)
        unlisted.add("eve", prefix: "/1/")
        #expect(unlisted.problem?.message == "the user eve has more in the registry than can be listed")
        #expect(unlisted.problem?.hint == "remove the user, or keys below /1/")
        unlisted.add("mallory", prefix: "/2/")
        #expect(unlisted.problem?.message == "the users eve and mallory have more in the registry than can be listed")
        #expect(unlisted.problem?.hint == "remove the users, or keys below /1/ and /2/")
        for number in 3...7 { unlisted.add("u\(number)", prefix: "/\(number)/") }
        #expect(
            unlisted.problem?.message
                == "the users eve, mallory, u3, u4, u5 and 2 more have more in the registry than can be listed")
    }

    @Test("an old token is told from a wrong password")
    func tokens() {
        #expect(EtcdAnswers.wantsNewToken("etcdserver: invalid auth token"))
        #expect(EtcdAnswers.wantsNewToken("etcdserver: revision of auth store is old"))
        #expect(!EtcdAnswers.wantsNewToken("etcdserver: authentication failed, invalid user ID or password"))
    }

    @Test("words of a server are shortened and printable")
    func words() {
        let long = failure(500, #"{"message":"\u001b[31m\#(String(repeating: "x", count: 500))"}"#).error.message
        #expect(long.utf8.count < 260 && !long.utf8.contains(0x1B))
        #expect(
            failure(502, "<html>bad gateway</html>\nmore").error.message
                == "https://etcd:2379 answered 502: <html>bad gateway</html>")
    }

    @Test("requests are those that etcd takes")
    func requests() {
        #expect(
            EtcdWire.range(
                from: Array("/a/".utf8), to: EtcdWire.end(ofPrefix: "/a/"), limit: 2, keysOnly: true, revision: 7)
                == #"{"key":"L2Ev","range_end":"L2Ew","limit":"2","keys_only":true,"revision":"7"}"#)
        #expect(
            EtcdWire.compare("/a", isPresent: false)
                == #"{"key":"L2E=","target":"CREATE","result":"EQUAL","create_revision":"0"}"#)
        #expect(
            EtcdWire.operation(.put("/a", [1], lease: 9))
                == #"{"request_put":{"key":"L2E=","value":"AQ==","lease":"9"}}"#)
    }

    @Test("http leaves this machine nowhere, and a fleet has endpoints")
    func endpoints() {
        let error = Result { () throws(TokenKeepError) in try EtcdSettings(endpoints: []) }
        #expect(throws: TokenKeepError.self) { try error.get() }
        for address in ["http://etcd.example.com:2379", "etcd:2379", "https://user@etcd", ""] {
            #expect(throws: TokenKeepError.self, "\(address)") { try EtcdSettings(endpoints: [address]) }
        }
        #expect(throws: Never.self) { try EtcdSettings(endpoints: ["http://127.0.0.1:2379/", "https://etcd:2379"]) }
    }
}
