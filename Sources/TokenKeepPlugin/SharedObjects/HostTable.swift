import CSodium
import TokenKeepCore
internal import TokenKeepHeaders

/// The host's functions in `tokenkeep/module.h`: one table, which exists as long as the process.
enum HostTable {
    /// The table's address.
    nonisolated(unsafe) static let address: UnsafePointer<tokenkeep_host> = {
        let table = UnsafeMutablePointer<tokenkeep_host>.allocate(capacity: 1)
        table.initialize(to: make())
        return UnsafePointer(table)
    }()

    /// The calls that modules may currently use.
    private static let calls = LentObjects<PluginCall>()
    /// The functions that report changes of items, for the open handles.
    static let tellers = LentObjects<ChangeTeller>()

    /// Runs `body` with a pointer that refers to the call, for a module's function. After `body`, the host ignores this
    /// pointer.
    static func lend<Result>(_ call: PluginCall, _ body: (OpaquePointer) -> Result) -> Result {
        let pointer = calls.lend(call)
        defer { calls.reclaim(pointer) }
        return body(OpaquePointer(pointer))
    }

    private static func call(_ pointer: OpaquePointer?) -> PluginCall? { calls[UnsafeMutableRawPointer(pointer)] }

    private static func make() -> tokenkeep_host {
        var table = tokenkeep_host()
        table.struct_size = MemoryLayout<tokenkeep_host>.size
        table.alloc = { size in
            let granule = 16  // memory ends at a guard page: only multiples are aligned
            guard (0...1 << 30).contains(size), (try? Sodium.start()) != nil else { return nil }
            let rounded = max(granule, (size + granule - 1) / granule * granule)
            guard let memory = sodium_malloc(rounded) else { return nil }
            sodium_memzero(memory, rounded)
            return memory
        }
        table.free = { sodium_free($0) }
        table.remaining_ms = { HostTable.call($0)?.deadline.remainingMilliseconds ?? 0 }
        table.is_over = { HostTable.call($0)?.isOver == false ? 0 : 1 }
        table.may_prompt = { HostTable.call($0)?.promptsAllowed == true ? 1 : 0 }
        table.set_error = { pointer, text in
            guard let call = HostTable.call(pointer), let text else { return }
            call.set(error: ForeignStrings.raw(text))
        }
        table.note = { pointer, text in
            guard let call = HostTable.call(pointer), let text = ForeignStrings.line(text) else { return }
            call.addRemark(text)
        }
        table.answer = { pointer, item in
            guard let call = HostTable.call(pointer) else { return }
            call.answer { (withSecret) throws(TokenKeepError) in
                try AnsweredItem(item, withSecret: withSecret)
            }
        }
        table.changed = { data in
            HostTable.tellers[data]?.tell()
        }
        table.extension = { _ in nil }
        return table
    }
}

/// The object behind a handle's `changed_data` pointer. Reports that items have changed.
final class ChangeTeller: Sendable {
    let tell: @Sendable () -> Void
    init(_ tell: @escaping @Sendable () -> Void) { self.tell = tell }
}
