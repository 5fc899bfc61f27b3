import Testing

@testable import TokenKeepFleet

@Suite("Pages and events of etcd's gateway")
struct EtcdPageTests {
    private func key(_ text: String) -> String { Base64.text(Array(text.utf8)) }

    private func page(_ keys: [String], members: String = "", prefix: String = "/a/") -> EtcdPage? {
        let kvs = keys.map { #"{"key":"\#($0)","mod_revision":"3","value":"AQID"}"# }.joined(separator: ",")
        let text = #"{"header":{"cluster_id":"1","revision":"5"},"kvs":[\#(kvs)]\#(members)}"#
        return Array(text.utf8).withUnsafeBytes { EtcdPage(parsing: $0, prefix: prefix, from: Array(prefix.utf8)) }
    }

    @Test("a page has the keys of its prefix, each behind the one before")
    func order() {
        #expect(page([key("/a/1"), key("/a/2")])?.entries.map(\.key) == ["/a/1", "/a/2"])
        #expect(page([key("/a/1"), key("/a/2")])?.length == 14)
        for keys in [["/a/2", "/a/1"], ["/a/1", "/a/1"], ["/b/1"], ["/a"]] {
            #expect(page(keys.map(key)) == nil, "\(keys)")
        }
        #expect(page(["!"]) == nil)
    }

    @Test("the next page begins behind the last key, also behind one that is no text")
    func next() {
        let binary = Base64.text(Array("/a/".utf8) + [0xFF])
        let found = page([key("/a/1"), binary], members: #","more":true"#)
        #expect(found?.entries.map(\.key) == ["/a/1"])
        #expect(found?.next == Array("/a/".utf8) + [0xFF, 0])
        #expect(page([], members: #","more":true"#)?.next == nil)
    }

    @Test("a value that is longer than a device writes opens as none, and counts by its key alone")
    func longValue() {
        let value = Base64.text([UInt8](repeating: 1, count: 4097))
        let text =
            #"{"header":{"cluster_id":"1","revision":"5"},"kvs":[{"key":"\#(key("/a/1"))","mod_revision":"3","value":"\#(value)"}]}"#
        let page = Array(text.utf8).withUnsafeBytes { EtcdPage(parsing: $0, prefix: "/a/", from: Array("/a/".utf8)) }
        #expect(page?.entries == [RegistryEntry(key: "/a/1", value: [], changedAt: 3)])
        #expect(page?.length == 4)
    }

    private func line(_ text: String) -> EtcdWatchLine {
        Array(text.utf8).withUnsafeBytes { EtcdWatchLine($0, after: 5) }
    }

    @Test("a change counts if it is later than the list")
    func changes() {
        func event(_ revision: String) -> String { #"{"result":{"events":[{"kv":{"mod_revision":"\#(revision)"}}]}}"# }
        #expect(line(event("5")) == .nothing(isCreated: false))
        #expect(line(event("6")) == .changed(isCreated: false))
        #expect(line(event("x")) == .changed(isCreated: false))
        #expect(line(#"{"result":{"created":true}}"#) == .nothing(isCreated: true))
        #expect(line("\r") == .nothing(isCreated: false))
    }

    @Test("a refused watch ends, though its status is 200")
    func ends() {
        let reason = "rpc error: code = PermissionDenied desc = etcdserver: permission denied"
        #expect(line(#"{"result":{"created":true,"canceled":true,"cancel_reason":"\#(reason)"}}"#) == .ended(reason))
        #expect(line(#"{"result":{"canceled":true,"compact_revision":"15"}}"#) == .ended("the revision is gone"))
        #expect(line(#"{"error":{"code":14,"message":"EOF"}}"#) == .ended("EOF"))
        #expect(line("garbage") == .ended("garbage"))
    }
}
