/// A control word of a stack's line, such as `required`. It assigns an action to each status of a module.
///
/// The actions depend on the operation, because operations treat failures differently. `docs/stack.md` has the table.
enum ControlWord: String, Sendable, CaseIterable {
    case required
    case requisite
    case sufficient
    case optional

    /// The actions that a line with this word takes in an operation.
    func actions(for operation: StackLine.Operation) -> StackActions {
        switch operation {
        case .load, .any: load
        case .save: save
        case .clear: clear
        case .list: list
        }
    }

    /// The action after a module's success.
    ///
    /// A load or save ends at the first module that returns or saves the item. A clear or list asks every module.
    static func success(of operation: StackLine.Operation) -> StackAction {
        operation == .load || operation == .save ? .done : .ok
    }

    private var load: StackActions {
        switch self {
        case .required, .sufficient: Self.loadRequired
        case .requisite: Self.loadRequisite
        case .optional: Self.loadOptional
        }
    }

    private var save: StackActions {
        switch self {
        case .required, .sufficient: Self.saveRequired
        case .requisite: Self.saveRequisite
        case .optional: Self.saveOptional
        }
    }

    private var clear: StackActions { self == .optional ? Self.visitOptional : Self.visitRequired }

    private var list: StackActions {
        switch self {
        case .required, .sufficient: Self.visitRequired
        case .requisite: Self.listRequisite
        case .optional: Self.visitOptional
        }
    }

    private static let loadRequired = StackActions([.ok: .done, .cancelled: .die], others: .bad)
    private static let loadRequisite = StackActions([.ok: .done, .notFound: .bad], others: .die)
    private static let loadOptional = StackActions([.ok: .done, .cancelled: .die], others: .ignore)

    /// The actions of the word `required` in a save.
    ///
    /// A save must not continue after a locked or refusing module, because a load would find that module's old value
    /// first.
    private static let saveRequired = StackActions(
        [.ok: .done, .notFound: .bad, .unavailable: .bad, .timedOut: .bad], others: .die)
    private static let saveRequisite = StackActions([.ok: .done], others: .die)
    private static let saveOptional = StackActions([.ok: .done, .cancelled: .die], others: .ignore)

    private static let visitRequired = StackActions([.ok: .ok, .notFound: .ignore, .cancelled: .die], others: .bad)
    private static let visitOptional = StackActions([.ok: .ok, .cancelled: .die], others: .ignore)
    private static let listRequisite = StackActions([.ok: .ok, .notFound: .ignore], others: .die)
}
