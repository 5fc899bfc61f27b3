/// The JSON of etcd's gateway: keys and values are in base64, and numbers of 64 bits are in strings.
enum EtcdWire {
    /// The header of an answer.
    struct Header {
        let revision: Int64
        let cluster: UInt64

        /// Reads an answer's header. Returns nil if the header is missing or malformed.
        init?(_ answer: WireValue) {
            guard let header = answer["header"], let cluster = header["cluster_id"]?.unsigned,
                let revision = header["revision"]?.integer, revision > 0
            else { return nil }
            (self.cluster, self.revision) = (cluster, revision)
        }
    }

    /// The key that follows all keys with a prefix in etcd's order. The prefix is ASCII.
    static func end(ofPrefix prefix: String) -> [UInt8] {
        var end = Array(prefix.utf8)
        if let last = end.popLast() { end.append(last + 1) }
        return end
    }

    static func range(from start: [UInt8], to end: [UInt8], limit: Int, keysOnly: Bool, revision: Int64) -> String {
        var members = [
            #""key":"\#(Base64.text(start))""#, #""range_end":"\#(Base64.text(end))""#, #""limit":"\#(limit)""#,
        ]
        if keysOnly { members.append(#""keys_only":true"#) }
        if revision > 0 { members.append(#""revision":"\#(revision)""#) }
        return "{\(members.joined(separator: ","))}"
    }

    /// Reads one element of a listing: the key, and the entry, which is nil if the key is not UTF-8. Returns nil if the
    /// element is malformed.
    static func entry(_ element: WireValue) -> (key: [UInt8], entry: RegistryEntry?)? {
        guard let key = element["key"]?.bytes, let changedAt = element["mod_revision"]?.integer else { return nil }
        let value = element["value"].map { $0.bytes } ?? []
        guard let value else { return nil }
        guard let text = String(validating: key, as: UTF8.self) else { return (key, nil) }
        let lease = element["lease"]?.integer ?? 0
        return (key, RegistryEntry(key: text, value: value, changedAt: changedAt, lease: lease))
    }

    static func compare(_ key: String, isPresent: Bool) -> String {
        let result = isPresent ? "GREATER" : "EQUAL"
        return #"{"key":"\#(text(key))","target":"CREATE","result":"\#(result)","create_revision":"0"}"#
    }

    static func compare(_ key: String, changedAt revision: Int64) -> String {
        #"{"key":"\#(text(key))","target":"MOD","result":"EQUAL","mod_revision":"\#(revision)"}"#
    }

    static func operation(_ change: RegistryChange) -> String {
        switch change {
        case .put(let key, let value, let lease):
            let end = lease == 0 ? "" : #","lease":"\#(lease)""#
            return #"{"request_put":{"key":"\#(text(key))","value":"\#(Base64.text(value))"\#(end)}}"#
        case .delete(let key): return #"{"request_delete_range":{"key":"\#(text(key))"}}"#
        case .deleteAll(let prefix):
            let end = Base64.text(end(ofPrefix: prefix))
            return #"{"request_delete_range":{"key":"\#(text(prefix))","range_end":"\#(end)"}}"#
        }
    }

    /// A request for a watch that begins at the revision of the listing. Some servers report no progress on a watch
    /// that begins at a later revision.
    static func watch(_ prefix: String, from revision: Int64) -> String {
        let end = Base64.text(end(ofPrefix: prefix))
        return #"{"create_request":{"key":"\#(text(prefix))","range_end":"\#(end)","start_revision":"\#(revision)","#
            + #""progress_notify":true}}"#
    }

    static let progress = #"{"progress_request":{}}"#

    private static func text(_ key: String) -> String { Base64.text(Array(key.utf8)) }
}
