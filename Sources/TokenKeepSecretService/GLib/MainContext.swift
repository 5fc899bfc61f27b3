internal import CLibsecret
import TokenKeepCore

/// A main context (event loop) of GLib for one call, on the calling thread.
///
/// GLib delivers each reply to the context that is the thread's default when the call is sent. With a separate context,
/// replies do not depend on the program's main loop, and no thread is needed that could outlive the caller.
struct MainContext: ~Copyable {
    private let context: OpaquePointer?
    /// Whether later exchanges use this context again.
    private let isReused: Bool

    /// Makes a context, and makes the context the thread's default.
    ///
    /// - Throws: ``Status/unavailable`` if fewer than `count` descriptors are free, because GLib would then end the
    ///   process.
    init(leaving count: Int = DescriptorSupply.forExchange) throws(TokenKeepError) {
        try DescriptorSupply.check(count)
        self.init(taking: glib.pointee.g_main_context_new())
    }

    /// Reuses the context of an earlier exchange, or makes a new context, as the thread's default. The caller must keep
    /// no reference to the context.
    ///
    /// - Throws: ``Status/unavailable`` if too few descriptors are free.
    static func forExchange() throws(TokenKeepError) -> MainContext {
        guard let spare = SpareContexts.take() else {
            try DescriptorSupply.check(DescriptorSupply.forExchange)
            return MainContext(taking: glib.pointee.g_main_context_new(), isReused: true)
        }
        return MainContext(taking: spare, isReused: true)
    }

    /// Makes an existing context the thread's default again.
    init(entering other: OpaquePointer?) { self.init(taking: glib.pointee.g_main_context_ref(other)) }

    private init(taking context: OpaquePointer?, isReused: Bool = false) {
        self.context = context
        self.isReused = isReused
        glib.pointee.g_main_context_push_thread_default(context)
    }

    /// A new reference to this context, for ``init(entering:)``. The caller releases it with `g_main_context_unref`.
    borrowing func retained() -> OpaquePointer? { glib.pointee.g_main_context_ref(context) }

    deinit {
        glib.pointee.g_main_context_pop_thread_default(context)
        if !isReused || !SpareContexts.keep(context) { glib.pointee.g_main_context_unref(context) }
    }

    /// Delivers replies until `isDone` is true, the deadline passes or the call is cancelled. Returns `isDone`.
    borrowing func run(until deadline: Deadline, _ isDone: () -> Bool) -> Bool {
        if isDone() { return true }
        let context = context
        guard let cancellation = deadline.cancellation else { return MainContext.wait(in: context, deadline, isDone) }
        let address = Int(bitPattern: context)
        return cancellation.waking(by: { glib.pointee.g_main_context_wakeup(OpaquePointer(bitPattern: address)) }) {
            MainContext.wait(in: context, deadline, isDone)
        }
    }

    private static func wait(in context: OpaquePointer?, _ deadline: Deadline, _ isDone: () -> Bool) -> Bool {
        let alarm = glib.pointee.g_timeout_source_new(deadline.remainingMilliseconds)
        glib.pointee.g_source_set_callback(alarm, { _ in 1 }, nil, nil)  // only ends the wait
        _ = glib.pointee.g_source_attach(alarm, context)
        defer {
            glib.pointee.g_source_destroy(alarm)
            glib.pointee.g_source_unref(alarm)
        }
        while !isDone() {
            guard !deadline.hasPassed else { return false }
            _ = glib.pointee.g_main_context_iteration(context, 1)
        }
        return true
    }

    /// Delivers replies that have already arrived, at most `limit`, without waiting.
    borrowing func deliver(atMost limit: Int, until isDone: () -> Bool) {
        for _ in 0..<limit where !isDone() {
            _ = glib.pointee.g_main_context_iteration(context, 0)
        }
    }
}

/// The contexts of earlier exchanges, kept for reuse.
///
/// GLib opens a context's descriptor when it makes the context, and ends the program if no descriptor is free at that
/// moment. With kept contexts, a program needs a new context only if more of its calls run at once than before.
private enum SpareContexts {
    private static let most = 4
    private static let addresses = MutexGuarded<[UInt]>([])

    static func take() -> OpaquePointer? {
        addresses.withLock { $0.popLast() }.flatMap { OpaquePointer(bitPattern: $0) }
    }

    /// Keeps a context for reuse. Returns false if enough contexts are kept.
    static func keep(_ context: OpaquePointer?) -> Bool {
        addresses.withLock { addresses in
            guard addresses.count < most else { return false }
            addresses.append(UInt(bitPattern: context))
            return true
        }
    }
}

/// An asynchronous operation of GLib that ends with a callback on the thread that began the operation.
///
/// The object holds a reference to itself until the callback, so that even a late callback finds the object alive.
final class Pending<Result> {
    private(set) var result: Result?
    private var finish: ((OpaquePointer?, OpaquePointer?) -> Result)?
    let cancellable = glib.pointee.g_cancellable_new()

    /// - Parameter finish: computes the result from the source object and the result object.
    init(finish: @escaping (OpaquePointer?, OpaquePointer?) -> Result) { self.finish = finish }

    deinit { glib.pointee.g_object_unref(UnsafeMutableRawPointer(cancellable)) }

    var isDone: Bool { result != nil }

    fileprivate func complete(_ source: OpaquePointer?, _ object: OpaquePointer?) {
        result = finish?(source, object)
        finish = nil
    }

    /// The data to pass to GLib with ``pendingCallback``. GLib must call that callback exactly once.
    var callbackData: UnsafeMutableRawPointer {
        Unmanaged<AnyObject>.passRetained(Callback { [self] in complete($0, $1) }).toOpaque()
    }
}

private final class Callback {
    let body: (OpaquePointer?, OpaquePointer?) -> Void
    init(_ body: @escaping (OpaquePointer?, OpaquePointer?) -> Void) { self.body = body }
}

/// The callback for GLib. Completes the ``Pending`` object in its data.
let pendingCallback: GAsyncReadyCallback = { source, result, data in
    guard let data else { return }
    let callback = Unmanaged<AnyObject>.fromOpaque(data).takeRetainedValue()
    (callback as? Callback)?.body(source, result)
}
