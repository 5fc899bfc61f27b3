/// What happened to the items of a store, without their values.
public enum ItemChange: Sendable, Hashable {
    /// The item was saved: it is new, or its secret or metadata is another.
    case saved(ItemName)
    /// The item was cleared.
    case cleared(ItemName)
    /// Something may have changed that cannot be told by name: read again what matters.
    case listAgain

    /// The word for it on the command line: `saved`, `cleared` or `read-again`.
    public var word: String {
        switch self {
        case .saved: "saved"
        case .cleared: "cleared"
        case .listAgain: "read-again"
        }
    }

    /// The item; nil where it is not known.
    public var name: ItemName? {
        switch self {
        case .saved(let name), .cleared(let name): name
        case .listAgain: nil
        }
    }
}
