import TokenKeepCore
import TokenKeepEngine

// C code refers to each of these objects by an opaque pointer. An object is retained once for the C caller, until the
// caller frees it.

/// Retains an object for C and returns its pointer. `consume` releases the object.
func retainForC(_ object: some AnyObject) -> OpaquePointer {
    OpaquePointer(Unmanaged.passRetained(object).toOpaque())
}

/// Returns a pointer to an object without retaining the object. Another object, such as a list, must own it and keep it
/// alive.
func lentToC(_ object: some AnyObject) -> OpaquePointer {
    OpaquePointer(Unmanaged.passUnretained(object).toOpaque())
}

/// Returns the object of a pointer, and leaves its ownership with C; nil for NULL.
func borrow<Object: AnyObject>(_ pointer: OpaquePointer?, as type: Object.Type) -> Object? {
    pointer.map { Unmanaged<Object>.fromOpaque(UnsafeRawPointer($0)).takeUnretainedValue() }
}

/// Releases an object that C owned; does nothing for NULL.
func consume<Object: AnyObject>(_ pointer: OpaquePointer?, as type: Object.Type) {
    guard let pointer else { return }
    Boundary.run { Unmanaged<Object>.fromOpaque(UnsafeRawPointer(pointer)).release() }
}

/// Returns the store of a call; throws ``Status/invalid`` for NULL.
func store(_ pointer: OpaquePointer?) throws(TokenKeepError) -> Store {
    try Boundary.required(borrow(pointer, as: Store.self), "store")
}

/// A `tokenkeep_item`: a loaded item, or a listed item without its secret.
final class ItemHandle: Sendable {
    let details: ItemDetails
    let secret: SecretBytes?
    private let texts: CStrings

    /// The texts of every item, in their order in `texts`. The names and values of the attributes follow these texts.
    enum Text: Int, CaseIterable {
        case namespace, service, account, label, module
    }

    init(_ details: ItemDetails, secret: SecretBytes? = nil) {
        self.details = details
        self.secret = secret
        let name = details.name
        var texts = [name.namespace, name.service, name.account, details.label, details.module]
        for pair in details.attributes.pairs { texts += [pair.name, pair.value] }
        self.texts = CStrings(texts)
    }

    func text(_ text: Text) -> UnsafePointer<CChar> { texts[text.rawValue] }

    /// The attribute at `index`, which must be a valid index of the attributes in `details`.
    func attribute(at index: Int) -> (name: UnsafePointer<CChar>, value: UnsafePointer<CChar>) {
        let first = Text.allCases.count + 2 * index
        return (texts[first], texts[first + 1])
    }
}

/// A `tokenkeep_items`: the items of a list and the error that left the list incomplete.
final class ListHandle: Sendable {
    let items: [ItemHandle]
    let problem: ErrorHandle?

    init(_ listing: ItemListing) {
        items = listing.items.map { ItemHandle($0) }
        problem = listing.problem.map(ErrorHandle.init)
    }
}

/// A `tokenkeep_error`.
final class ErrorHandle: Sendable {
    let status: Status
    private let texts: CStrings
    private let hasModule: Bool

    init(_ error: TokenKeepError) {
        status = error.status
        hasModule = error.module != nil
        texts = CStrings([error.message + (error.hint.map { "; \($0)" } ?? ""), error.module ?? ""])
    }

    var message: UnsafePointer<CChar> { texts[0] }
    var module: UnsafePointer<CChar>? { hasModule ? texts[1] : nil }
}
