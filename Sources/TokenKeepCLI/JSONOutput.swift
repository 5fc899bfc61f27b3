import FoundationEssentials
import TokenKeepCore
import TokenKeepEngine

/// The values that `--json` writes. Every member is always present; an unknown value is null.
enum JSONOutput {
    /// The items of a list, and the error that left the list incomplete.
    struct Listing: Encodable {
        private let items: [Item]
        private let problem: Nullable<Problem>

        init(_ listing: ItemListing) {
            items = listing.items.map(Item.init)
            problem = Nullable(listing.problem.map(Problem.init))
        }
    }

    /// The error that left an output incomplete.
    struct Problem: Encodable {
        private let status, message: String
        private let module, hint: Nullable<String>

        fileprivate init(_ error: TokenKeepError) {
            status = error.status.name
            message = error.message
            module = Nullable(error.module)
            hint = Nullable(error.hint)
        }
    }

    /// An item without its secret.
    struct Item: Encodable {
        private enum CodingKeys: String, CodingKey {
            case namespace, service, account, label, level, flags, attributes, version, module
            case createdAt = "created_at"
            case modifiedAt = "modified_at"
            case expiresAt = "expires_at"
        }

        private let namespace, service, account, label, level, module: String
        private let flags: [String]
        private let attributes: [String: String]
        private let createdAt, modifiedAt, expiresAt: Nullable<String>
        /// A string, because many readers of JSON keep only 53 bits of a number.
        private let version: String

        init(_ item: ItemDetails) {
            namespace = item.name.namespace
            service = item.name.service
            account = item.name.account
            label = item.label
            level = item.accessLevel.word
            flags = item.flags.words
            attributes = Dictionary(uniqueKeysWithValues: item.attributes.pairs.map { ($0.name, $0.value) })
            createdAt = Nullable(item.createdAt?.iso8601)
            modifiedAt = Nullable(item.modifiedAt?.iso8601)
            expiresAt = Nullable(item.expiresAt?.iso8601)
            version = String(item.version)
            module = item.module
        }
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

    /// The state of the store, as `status` writes it.
    struct State: Encodable {
        private enum CodingKeys: String, CodingKey {
            case version, modules
            case owed = "pending"
            case pendingProblem = "pending_problem"
            case isMemoryLocked = "memory_locked"
        }

        private let version = TokenKeepVersion.string
        private let modules: [ModuleState]
        private let isMemoryLocked: Bool
        private let owed: [Owed]
        private let pendingProblem: Nullable<Problem>

        init(_ status: StoreStatus) {
            modules = status.modules.map(ModuleState.init)
            owed = status.pending.entries.map(Owed.init)
            pendingProblem = Nullable(status.pending.problem.map(Problem.init))
            isMemoryLocked = status.isMemoryLocked
        }
    }

    /// A pending write or removal of one item in one module.
    struct Owed: Encodable {
        private enum CodingKeys: String, CodingKey {
            case module, what, since, namespace, service, account
            case isOfThisMachine = "this_machine"
        }

        private let module, what, since: String
        private let isOfThisMachine: Bool
        private let namespace, service, account: Nullable<String>

        fileprivate init(_ entry: PendingReport.Entry) {
            module = entry.module
            what = !entry.isRemoval ? "item" : "removal"
            since = entry.since.iso8601
            isOfThisMachine = entry.isOfThisMachine
            namespace = Nullable(entry.item?.namespace)
            service = Nullable(entry.item?.service)
            account = Nullable(entry.item?.account)
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
            notes = report.notes
        }
    }

    /// A value or null. An encoder would leave out a plain optional.
    struct Nullable<Value: Encodable>: Encodable {
        private let value: Value?

        init(_ value: Value?) { self.value = value }

        /// See `Encodable`.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            if let value { try container.encode(value) } else { try container.encodeNil() }
        }
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
        // A line break occurs only between values, so the patterns match empty arrays and objects alone.
        let json = String(decoding: try encoder.encode(value), as: UTF8.self)
            .replacing(/\[\n\s*\]/, with: "[]").replacing(/\{\n\s*\}/, with: "{}")
        var result = ""
        for scalar in json.unicodeScalars {
            if scalar != "\n", Terminal.mustBeEscaped(scalar) {
                for unit in UTF16.encode(scalar)?.map({ $0 }) ?? [] { result += escape(unit) }
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result + "\n"
    }

    private static func escape(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}

extension ItemFlags {
    /// The words of the flags, as the options of `save` spell these words.
    var words: [String] {
        let all: [(ItemFlags, String)] = [
            (.requireEnforced, "require-enforced"), (.userPresence, "user-presence"),
            (.synchronizable, "synchronizable"),
        ]
        return all.filter { contains($0.0) }.map(\.1)
    }
}
