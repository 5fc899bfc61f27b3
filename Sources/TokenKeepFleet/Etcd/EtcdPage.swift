/// One page of a listing, parsed from an untrusted answer.
package struct EtcdPage {
    package let revision: Int64
    package let cluster: UInt64
    /// The entries whose keys are UTF-8. A value longer than ``EtcdRegistry/longestValue`` is replaced by an empty
    /// value, which cannot be opened.
    package private(set) var entries: [RegistryEntry] = []
    /// The total length, in bytes, of all keys on the page and of the values in ``entries``.
    package private(set) var length = 0
    /// The key at which the next page begins; nil if this page is the last.
    package private(set) var next: [UInt8]?

    /// Reads the page that begins at the key `start`.
    ///
    /// Returns nil if a key has another prefix or is out of order, because a listing from such a server might never
    /// end.
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
            // All keys of a fleet are UTF-8, so any other key is skipped.
            guard var entry else { continue }
            if entry.value.count > EtcdRegistry.longestValue { entry.value = [] }
            length += entry.value.count
            entries.append(entry)
        }
        if answer["more"]?.isTrue == true, !found.isEmpty { next = start }
    }

    /// Parses an answer; nil if the bytes are not JSON, or not a page.
    package init?(parsing bytes: UnsafeRawBufferPointer, prefix: String, from start: [UInt8]) {
        guard let answer = WireValue(parsing: bytes) else { return nil }
        self.init(answer, prefix: prefix, from: start)
    }
}
