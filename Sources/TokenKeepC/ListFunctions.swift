import CTokenKeep

// Lists: tokenkeep/store.h says what each function does.

/// How many items a list has.
@implementation @_cdecl("tokenkeep_items_count")
public func tokenkeep_items_count(_ items: OpaquePointer?) -> Int {
    borrow(items, as: ListHandle.self)?.items.count ?? 0
}

/// An item that the list goes on owning; NULL past the end.
@implementation @_cdecl("tokenkeep_items_at")
public func tokenkeep_items_at(_ items: OpaquePointer?, _ index: Int) -> OpaquePointer? {
    guard let list = borrow(items, as: ListHandle.self), list.items.indices.contains(index) else { return nil }
    return lentToC(list.items[index])
}

/// What the list lacks, which it goes on owning; NULL where it is complete.
@implementation @_cdecl("tokenkeep_items_problem")
public func tokenkeep_items_problem(_ items: OpaquePointer?) -> OpaquePointer? {
    borrow(items, as: ListHandle.self)?.problem.map(lentToC)
}

/// Frees a list and its items.
@implementation @_cdecl("tokenkeep_items_free")
public func tokenkeep_items_free(_ items: OpaquePointer?) {
    consume(items, as: ListHandle.self)
}

/// An object that the list keeps alive.
private func lentToC(_ object: some AnyObject) -> OpaquePointer {
    OpaquePointer(Unmanaged.passUnretained(object).toOpaque())
}
