/// Suggests the existing name that a mistyped name most resembles.
package enum NearestName {
    /// The candidate with the fewest changed characters; nil if no candidate is near enough.
    ///
    /// A candidate that differs only in upper and lower case, or only in the Unicode form of its characters (NFC, NFD),
    /// comes first, because both may look alike on a terminal. Otherwise at most one character may differ, two for
    /// names of at least six characters, three for names of at least nine. Of equally near candidates, the first in
    /// alphabetical order is returned.
    package static func of(_ name: String, among candidates: some Sequence<String>) -> String? {
        let wanted = Array(name.unicodeScalars)
        var limit = max(1, min(3, wanted.count / 3))
        var nearest: String?
        let candidates = Set(candidates.map(Candidate.init)).map(\.name).sorted()
        // `==` on Strings also accepts different Unicode forms of the same characters.
        let folded = name.lowercased()
        let twins = candidates.filter { !$0.unicodeScalars.elementsEqual(wanted) && $0.lowercased() == folded }
        if let twin = twins.first(where: { $0 == name }) ?? twins.first { return twin }
        for candidate in candidates {
            let scalars = Array(candidate.unicodeScalars)
            guard let distance = distance(wanted, scalars, atMost: limit), distance > 0 else { continue }
            nearest = candidate
            limit = distance - 1
        }
        return nearest
    }

    /// A name that is compared by its bytes, because two names that are equal as Strings may name two items.
    private struct Candidate: Hashable {
        let name: String
        static func == (left: Candidate, right: Candidate) -> Bool { left.name.utf8.elementsEqual(right.name.utf8) }
        func hash(into hasher: inout Hasher) { for byte in name.utf8 { hasher.combine(byte) } }
    }

    /// The number of inserted, removed and replaced characters between two names; nil if the number exceeds `limit`.
    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar], atMost limit: Int) -> Int? {
        guard abs(left.count - right.count) <= limit else { return nil }
        var row = Array(0...right.count)
        for (line, scalar) in left.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for (column, other) in right.enumerated() {
                let replaced = diagonal + (scalar == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
            }
            guard row.contains(where: { $0 <= limit }) else { return nil }
        }
        return row[right.count] <= limit ? row[right.count] : nil
    }
}
