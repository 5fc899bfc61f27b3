// FoundationEssentials is imported for Date. libtokenkeep.so does not link this target, and so links no Foundation.
public import FoundationEssentials
import TokenKeepCore

extension TokenStore {
    /// The options for opening a store.
    public struct Options: Sendable {
        /// The name of a configured stack; nil for the default stack. Cannot be combined with ``stackText``.
        public var stack: String?
        /// The text of a stack, with one line for each module; nil to use ``stack``. Cannot be combined with ``stack``.
        public var stackText: String?
        /// The namespace of the store's items.
        public var namespace: String
        /// The timeout of each call; nil for 5 seconds, or for 2 minutes if prompts are allowed.
        public var timeout: Duration?
        /// Whether modules may prompt the user.
        public var isInteractive: Bool
        /// The handler for the vault's prompts if ``isInteractive`` is true; nil to leave the prompts unanswered.
        ///
        /// The store calls the handler on one of its own threads.
        public var prompt: PromptHandler?

        /// Makes options for a store.
        ///
        /// The defaults are the default stack, the common namespace, 5 seconds for each call and no prompts.
        public init(
            stack: String? = nil, stackText: String? = nil, namespace: String = "", timeout: Duration? = nil,
            isInteractive: Bool = false, prompt: PromptHandler? = nil
        ) {
            self.stack = stack
            self.stackText = stackText
            self.namespace = namespace
            self.timeout = timeout
            self.isInteractive = isInteractive
            self.prompt = prompt
        }

        /// The timeout for the engine, in milliseconds; 0 for the engine's default. A ``timeout`` of less than a
        /// millisecond counts as 1.
        package var timeoutMilliseconds: UInt32 {
            guard let timeout else { return 0 }
            let (seconds, attoseconds) = timeout.components
            let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
            guard !overflow else { return seconds < 0 ? 1 : .max }
            return max(
                1,
                UInt32(clamping: milliseconds.addingReportingOverflow(attoseconds / 1_000_000_000_000_000).partialValue)
            )
        }
    }

    /// The options of a save.
    public struct SaveOptions: Sendable {
        /// The accessibility level; nil keeps an existing item's level.
        ///
        /// If the level is nil, a new item gets ``TokenItem/Accessibility/afterFirstUnlock``.
        public var accessibility: TokenItem.Accessibility?
        /// The flags that are stored with the item.
        public var flags: TokenItem.Flags
        /// The label; nil for `SERVICE (ACCOUNT)`.
        public var label: String?
        /// The attributes by name, which replace all attributes of an existing item.
        public var attributes: [String: String]
        /// The time at which the secret expires, rounded down to whole seconds; nil for never.
        public var expiresAt: Date?
        /// The condition that the existing item must meet. If it does not meet the condition, the save fails.
        public var precondition: Precondition
        /// Whether the vault keeps the value as a pending write if the item's module is locked.
        ///
        /// The pending write needs an open key that the vault's password protects. Without such a key the save fails
        /// with ``TokenKeepError/Status/locked``.
        public var keepsWhenLocked = false

        /// Makes options for a save. An omitted option has its default.
        public init(
            accessibility: TokenItem.Accessibility? = nil, flags: TokenItem.Flags = [], label: String? = nil,
            attributes: [String: String] = [:], expiresAt: Date? = nil,
            precondition: Precondition = .none
        ) {
            self.accessibility = accessibility
            self.flags = flags
            self.label = label
            self.attributes = attributes
            self.expiresAt = expiresAt
            self.precondition = precondition
        }

        func expirySecond() throws(CoreError) -> UnixTime? {
            guard let expiresAt else { return nil }
            return try UnixTime(expiresAt)
        }
    }

    /// A condition on the existing item. If it is not met, the save fails.
    public enum Precondition: Sendable, Equatable {
        /// No condition: an existing item is replaced.
        case none
        /// The item must not exist; otherwise the save fails with ``TokenKeepError/Status/duplicate``.
        case absent
        /// The item must have this version; otherwise the save fails with ``TokenKeepError/Status/conflict``.
        case version(UInt64)

        var core: SaveRequest.Precondition {
            switch self {
            case .none: .none
            case .absent: .absent
            case .version(let version): .version(version)
            }
        }
    }
}
