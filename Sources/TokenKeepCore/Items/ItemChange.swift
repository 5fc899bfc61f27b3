/// A change of a store's items, as a watch (an observer of the store) reports it.
///
/// A change may name the item, but contains neither its secret nor its metadata.
public enum ItemChange: Sendable, Hashable {
    /// The item was saved: it is new, or its secret or metadata changed.
    case saved(ItemName)
    /// The item was cleared.
    case cleared(ItemName)
    /// Some items may have changed, and TokenKeep does not know which: list the items again.
    case listAgain

    /// The change's name on the command line: `saved`, `cleared` or `list-again`.
    public var word: String {
        switch self {
        case .saved: "saved"
        case .cleared: "cleared"
        case .listAgain: "list-again"
        }
    }

    /// The name of the changed item; nil for ``listAgain``.
    public var name: ItemName? {
        switch self {
        case .saved(let name), .cleared(let name): name
        case .listAgain: nil
        }
    }
}
