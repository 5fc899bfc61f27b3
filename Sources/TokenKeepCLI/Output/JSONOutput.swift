import FoundationEssentials
import TokenKeepCore
import TokenKeepEngine
import TokenKeepRecords
import TokenKeepSession

/// The JSON values that `--json` writes. Every member is always present; an unknown value is null.
enum JSONOutput {
    /// The error because of which an output is incomplete.
    struct Problem: Encodable {
        private let status, message: String
        private let module, hint: Nullable<String>

        init(_ error: TokenKeepError) {
            status = error.status.name
            message = error.message
            module = Nullable(error.module)
            hint = Nullable(error.hint)
        }
    }

    /// The outcome of a save.
    struct Saved: Encodable {
        private let version: Nullable<String>

        init(_ outcome: SaveOutcome) { version = Nullable(outcome.version == 0 ? nil : String(outcome.version)) }
    }

    /// A change of an item, on one line of `watch`.
    struct Change: Encodable {
        private let event, namespace: String
        private let service, account: Nullable<String>

        init(_ change: ItemChange, namespace: String) {
            event = change.word
            self.namespace = namespace
            service = Nullable(change.name?.service)
            account = Nullable(change.name?.account)
        }
    }

    /// The JSON object of `status`: the state of the store.
    struct State: Encodable {
        private enum CodingKeys: String, CodingKey {
            case version, modules, pending, sessions, login
            case pendingProblem = "pending_problem"
            case isMemoryLocked = "memory_locked"
        }

        private let version = TokenKeepVersion.string
        private let modules: [ModuleState]
        private let isMemoryLocked: Bool
        private let pending: [PendingEntry]
        private let pendingProblem: Nullable<Problem>
        private let sessions: Nullable<WaitingSessions>
        private let login: Nullable<Login>

        init(_ status: StoreStatus, _ waiting: Sessions.Waiting?, _ login: LastLogin?) {
            self.login = Nullable(login.map(Login.init))
            sessions = Nullable(waiting.map(WaitingSessions.init))
            modules = status.modules.map(ModuleState.init)
            pending = status.pending.entries.map(PendingEntry.init)
            pendingProblem = Nullable(status.pending.problem.map(Problem.init))
            isMemoryLocked = status.isMemoryLocked
        }
    }

    /// The outcome of the last login that reached the vault.
    struct Login: Encodable {
        private let time, service, outcome: String
        private let hint: Nullable<String>

        init(_ note: LastLogin) { self.init(note, nil, hint: note.hint) }

        /// - Parameter outcome: an outcome that replaces the outcome of `note`, because it is more specific; nil for
        ///   none.
        init(_ note: LastLogin, _ outcome: String?, hint: String?) {
            time = note.time.iso8601
            service = note.service
            self.outcome = outcome ?? note.outcome.rawValue
            self.hint = Nullable(hint)
        }
    }

    /// The number of stashed session answers, and whether revocations are queued; null if the vault cannot be read.
    /// `outbox` is null if the queue cannot be listed.
    struct WaitingSessions: Encodable {
        private let stashed: Int
        private let outbox: Nullable<Bool>

        init(_ waiting: Sessions.Waiting) {
            stashed = waiting.stashed
            outbox = Nullable(waiting.hasOutbox)
        }
    }

    /// A pending write or removal of one item, or the pending removal of one service, in one module.
    struct PendingEntry: Encodable {
        private enum CodingKeys: String, CodingKey {
            case module, what, since, namespace, service, account
            case isOfThisMachine = "this_machine"
        }

        private let module, what, since: String
        private let isOfThisMachine: Bool
        private let namespace, service, account: Nullable<String>

        fileprivate init(_ entry: PendingReport.Entry) {
            module = entry.module
            what = !entry.isRemoval ? "item" : entry.isOfService ? "service removal" : "removal"
            since = entry.since.iso8601
            isOfThisMachine = entry.isOfThisMachine
            namespace = Nullable(entry.item?.namespace)
            service = Nullable(entry.item.map { $0.removedService ?? $0.service })
            account = Nullable(entry.isOfService ? nil : entry.item?.account)
        }
    }

    /// The state of a module.
    struct ModuleState: Encodable {
        private let module, place: String
        private let reachable: Bool
        private let status, problem, hint: Nullable<String>
        private let notes: [String]

        fileprivate init(_ report: ModuleReport) {
            module = report.module
            place = report.place
            reachable = report.problem == nil
            status = Nullable(report.problem?.status.name)
            problem = Nullable(report.problem?.message)
            hint = Nullable(report.problem?.hint)
            notes = report.remarks
        }
    }

    /// A value, or null. For an optional without a value, an encoder would omit the member instead.
    struct Nullable<Value: Encodable>: Encodable {
        private let value: Value?

        init(_ value: Value?) { self.value = value }

        /// See `Encodable`.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            if let value { try container.encode(value) } else { try container.encodeNil() }
        }
    }

    /// Writes a list of items to standard output as a JSON object with the members `items` and `problem`, in parts of
    /// about 64 KiB.
    static func write(_ listing: ItemListing) throws {
        var writer = JSONItemWriter(indentation: 4)
        writer.append("{\n  \"items\" : [")
        for (index, item) in listing.items.enumerated() {
            writer.append(index == 0 ? "\n    " : ",\n    ")
            writer.append(item)
            if writer.bytes.count >= 65_536 { try writer.flush { try Terminal.write($0) } }
        }
        let problem = try text(Nullable(listing.problem.map(Problem.init))).dropLast().replacing("\n", with: "\n  ")
        writer.append("\(listing.items.isEmpty ? "" : "\n  ")],\n  \"problem\" : \(problem)\n}\n")
        try writer.flush { try Terminal.write($0) }
    }

    /// Encodes a value as JSON text, with members in alphabetical order.
    ///
    /// Every character for which `Terminal.mustBeEscaped` is true is escaped. JSON is ASCII outside strings, so escapes
    /// occur in strings only.
    static func text(_ value: some Encodable) throws -> String { try text(value, [.prettyPrinted]) }

    /// Encodes a value as JSON text like ``text(_:)``, but on one line.
    static func line(_ value: some Encodable) throws -> String { try text(value, []) }

    private static func text(_ value: some Encodable, _ layout: JSONEncoder.OutputFormatting) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = layout.union([.sortedKeys, .withoutEscapingSlashes])
        // A line break occurs only between values, so these patterns match only empty arrays and objects.
        let json = String(decoding: try encoder.encode(value), as: UTF8.self)
            .replacing(/\[\n\s*\]/, with: "[]").replacing(/\{\n\s*\}/, with: "{}")
        var result: [UInt8] = []
        for scalar in json.unicodeScalars {
            if scalar != "\n", Terminal.mustBeEscaped(scalar) {
                JSONEscape.write(scalar) { result.append($0) }
            } else {
                result += UTF8.encode(scalar) ?? .init()
            }
        }
        return String(decoding: result, as: UTF8.self) + "\n"
    }
}

extension ItemFlags {
    /// The names of the flags, with the spelling of the options of `save`.
    var words: [String] {
        let all: [(ItemFlags, String)] = [
            (.requireEnforced, "require-enforced"), (.userPresence, "user-presence"),
            (.synchronizable, "synchronizable"),
        ]
        return all.filter { contains($0.0) }.map(\.1)
    }
}
