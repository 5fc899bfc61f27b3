/// A change of a store's items, without values.
public enum ItemChange: Sendable, Hashable {
    /// The item was saved: it is new, or its secret or metadata changed.
    case saved(ItemName)
    /// The item was cleared.
    case cleared(ItemName)
    /// Unknown items may have changed: list again.
    case listAgain

    /// The event's word on the command line: `saved`, `cleared` or `list-again`.
    public var word: String {
        switch self {
        case .saved: "saved"
        case .cleared: "cleared"
        case .listAgain: "list-again"
        }
    }

    /// The changed item; nil if unknown.
    public var name: ItemName? {
        switch self {
        case .saved(let name), .cleared(let name): name
        case .listAgain: nil
        }
    }
}
