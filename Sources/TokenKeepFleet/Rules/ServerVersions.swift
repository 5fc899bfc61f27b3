/// Knows the versions of etcd whose vulnerabilities let a fleet's users reach other users' keys (docs/fleet.md).
package enum ServerVersions {
    /// The first version of each release line without the known vulnerabilities.
    private static let mended = [(3, 5, 33), (3, 6, 14), (3, 7, 1)]

    /// Whether a version has known vulnerabilities; true also if the version cannot be parsed.
    package static func hasHoles(_ version: String) -> Bool {
        let numbers = (version.split(separator: "-").first ?? "").split(separator: ".").map { Int($0) ?? -1 }
        guard numbers.count == 3, let major = numbers.first, major >= 0 else { return true }
        guard let line = mended.first(where: { ($0.0, $0.1) == (numbers[0], numbers[1]) }) else {
            return (numbers[0], numbers[1]) < (3, 5)
        }
        return numbers[2] < line.2
    }
}
