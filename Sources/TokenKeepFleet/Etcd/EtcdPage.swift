/// A page of a listing, read from an untrusted answer.
package struct EtcdPage {
    package let revision: Int64
    package let cluster: UInt64
    /// The entries whose key is text. A value above ``EtcdRegistry/longestValue`` is replaced by an empty value, which does
    /// not open.
    package private(set) var entries: [RegistryEntry] = []
    /// The bytes of all keys, and of the values of ``entries``.
    package private(set) var length = 0
    /// Where the next page begins; nil if this one is the last.
    package private(set) var next: [UInt8]?

    /// Reads an answer with the keys of a prefix from `start` on. Returns nil if the answer has a key of another prefix, or
    /// keys out of order: a list from such a server might never end.
    init?(_ answer: WireValue, prefix: String, from start: [UInt8]) {
        guard let header = EtcdWire.Header(answer) else { return nil }
        (revision, cluster) = (header.revision, header.cluster)
        let found = answer["kvs"]?.elements ?? []
        var start = start
        for element in found {
            guard let (key, entry) = EtcdWire.entry(element), key.starts(with: prefix.utf8),
                !key.lexicographicallyPrecedes(start)
            else { return nil }
            start = key + [0]
            length += key.count
            // A key that is no text is none of ours.
            guard var entry else { continue }
            if entry.value.count > EtcdRegistry.longestValue { entry.value = [] }
            length += entry.value.count
            entries.append(entry)
        }
        if answer["more"]?.isTrue == true, !found.isEmpty { next = start }
    }

    /// nil for bytes that are no JSON, too.
    package init?(parsing bytes: UnsafeRawBufferPointer, prefix: String, from start: [UInt8]) {
        guard let answer = WireValue(parsing: bytes) else { return nil }
        self.init(answer, prefix: prefix, from: start)
    }
}
