import TokenKeepCore
import TokenKeepEngine
public import TokenKeepHeaders

// Watches. tokenkeep/watch.h documents each function.

/// A `tokenkeep_event`.
final class EventHandle: Sendable {
    let kind: UInt32
    let isNamed: Bool
    private let texts: CStrings

    init(_ change: ItemChange, namespace: String) {
        kind =
            switch change {
            case .listAgain: UInt32(TOKENKEEP_EVENT_LIST_AGAIN)
            case .saved: UInt32(TOKENKEEP_EVENT_SAVED)
            case .cleared: UInt32(TOKENKEEP_EVENT_CLEARED)
            }
        isNamed = change.name != nil
        texts = CStrings([namespace, change.name?.service ?? "", change.name?.account ?? ""])
    }

    var namespace: UnsafePointer<CChar> { texts[0] }
    var service: UnsafePointer<CChar>? { isNamed ? texts[1] : nil }
    var account: UnsafePointer<CChar>? { isNamed ? texts[2] : nil }
}

/// See watch.h.
@implementation @_cdecl("tokenkeep_watch_open")
public func tokenkeep_watch_open(
    _ handle: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ opened: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let store = try store(handle)
        let service = try Boundary.optionalText(service, "service", atMost: Limits.service)
        let opened = try Boundary.required(opened, "pointer for the watch")
        opened.pointee = retainForC(try StoreWatch(store, service: service))
    }
}

/// See watch.h.
@implementation @_cdecl("tokenkeep_watch_fd")
public func tokenkeep_watch_fd(_ watch: OpaquePointer?) -> Int32 {
    borrow(watch, as: StoreWatch.self)?.descriptor ?? -1
}

/// See watch.h.
@implementation @_cdecl("tokenkeep_watch_next")
public func tokenkeep_watch_next(
    _ handle: OpaquePointer?, _ event: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let watch = try Boundary.required(borrow(handle, as: StoreWatch.self), "watch")
        let event = try Boundary.required(event, "pointer for the event")
        guard let change = try watch.next() else { throw TokenKeepError(.notFound, "nothing has changed") }
        event.pointee = retainForC(EventHandle(change, namespace: watch.namespace))
    }
}

/// See watch.h.
@implementation @_cdecl("tokenkeep_watch_close")
public func tokenkeep_watch_close(_ watch: OpaquePointer?) {
    consume(watch, as: StoreWatch.self)
}

/// See watch.h.
@implementation @_cdecl("tokenkeep_event_kind")
public func tokenkeep_event_kind(_ event: OpaquePointer?) -> UInt32 {
    borrow(event, as: EventHandle.self)?.kind ?? 0
}

/// See watch.h.
@implementation @_cdecl("tokenkeep_event_namespace")
public func tokenkeep_event_namespace(_ event: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(event, as: EventHandle.self)?.namespace
}

/// See watch.h.
@implementation @_cdecl("tokenkeep_event_service")
public func tokenkeep_event_service(_ event: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(event, as: EventHandle.self)?.service
}

/// See watch.h.
@implementation @_cdecl("tokenkeep_event_account")
public func tokenkeep_event_account(_ event: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(event, as: EventHandle.self)?.account
}

/// See watch.h.
@implementation @_cdecl("tokenkeep_event_free")
public func tokenkeep_event_free(_ event: OpaquePointer?) {
    consume(event, as: EventHandle.self)
}
