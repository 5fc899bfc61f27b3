import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep protection`.
struct ProtectionCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "protection",
        abstract: "Show what is really achieved for each level, against whom, and by what.",
        discussion: """
            As it is now, in this stack and on this machine. A level is enforced against somebody where a key is not there \
            for him, or the kernel keeps him out; advisory, as far as nobody goes around it.

              tokenkeep protection
              tokenkeep protection --json
            """.withWholeExamples)

    @OptionGroup
    var options: JSONStoreOptions

    private struct Row {
        let name: String
        let level: AccessLevel
        let flags: ItemFlags
        let protection: Result<Protection, TokenKeepError>
    }

    func run(_ store: Store) throws {
        let kinds: [(String, AccessLevel, ItemFlags)] =
            AccessLevel.allCases.map { ($0.word, $0, []) }
            + [("after-first-unlock, user presence", .afterFirstUnlock, .userPresence)]
        var rows: [Row] = []
        for (name, level, flags) in kinds {
            let protection: Result<Protection, TokenKeepError>
            do throws(TokenKeepError) {
                protection = .success(try store.protection(of: level, flags))
            } catch {
                guard error.status == .unsupported || error.status == .policy else { throw error }
                protection = .failure(error)
            }
            rows.append(Row(name: name, level: level, flags: flags, protection: protection))
        }
        try Terminal.write(options.json ? ProtectionCommand.jsonText(rows) : ProtectionCommand.text(rows))
    }

    private static func text(_ rows: [Row]) -> String {
        var table = Table(header: ["LEVEL"] + ProtectionAxis.allCases.map { $0.word.uppercased() })
        var reasons: [String] = []
        for row in rows {
            switch row.protection {
            case .failure(let error):
                table.add(
                    [row.name, error.status == .policy ? "refused" : "unsupported"]
                        + ProtectionAxis.allCases.dropFirst().map { _ in "" })
            case .success(let protection):
                table.add([row.name] + ProtectionAxis.allCases.map { protection[$0].strength.word })
                reasons += ["", "\(row.name):"] + ProtectionAxis.allCases.flatMap { lines(protection[$0], of: $0) }
            }
        }
        return table.text + reasons.map { $0 + "\n" }.joined()
    }

    private static func lines(_ axis: Protection.Axis, of name: ProtectionAxis) -> [String] {
        let line = "  \(name.word): \(axis.strength.word): \(axis.mechanism)"
        guard axis.strength != .enforced, let remedy = axis.remedy else { return [line] }
        return [line, "    to raise it: \(remedy)"]
    }

    private static func jsonText(_ rows: [Row]) throws -> String {
        try JSONOutput.text(["levels": rows.map(JSONRow.init)])
    }

    private struct JSONRow: Encodable {
        private let level: String
        private let flags: [String]
        /// The axes of the protection; null if the level is unsupported or refused.
        private let axes: JSONOutput.Nullable<[String: JSONAxis]>

        init(_ row: Row) {
            level = row.level.word
            flags = row.flags.words
            let protection = try? row.protection.get()
            axes = JSONOutput.Nullable(
                protection.map { protection in
                    Dictionary(
                        uniqueKeysWithValues: ProtectionAxis.allCases.map { ($0.word, JSONAxis(protection[$0])) })
                })
        }
    }

    private struct JSONAxis: Encodable {
        private let strength, mechanism: String
        private let remedy: JSONOutput.Nullable<String>

        init(_ axis: Protection.Axis) {
            strength = axis.strength.word
            mechanism = axis.mechanism
            remedy = JSONOutput.Nullable(axis.remedy)
        }
    }
}
