import TokenKeepHeaders

// Lists. tokenkeep/store.h documents each function.

/// See store.h.
@implementation @_cdecl("tokenkeep_items_count")
public func tokenkeep_items_count(_ items: OpaquePointer?) -> Int {
    borrow(items, as: ListHandle.self)?.items.count ?? 0
}

/// See store.h.
@implementation @_cdecl("tokenkeep_items_at")
public func tokenkeep_items_at(_ items: OpaquePointer?, _ index: Int) -> OpaquePointer? {
    guard let list = borrow(items, as: ListHandle.self), list.items.indices.contains(index) else { return nil }
    return lentToC(list.items[index])
}

/// See store.h.
@implementation @_cdecl("tokenkeep_items_problem")
public func tokenkeep_items_problem(_ items: OpaquePointer?) -> OpaquePointer? {
    borrow(items, as: ListHandle.self)?.problem.map(lentToC)
}

/// See store.h.
@implementation @_cdecl("tokenkeep_items_free")
public func tokenkeep_items_free(_ items: OpaquePointer?) {
    consume(items, as: ListHandle.self)
}
