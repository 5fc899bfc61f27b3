package import TokenKeepCore
import TokenKeepRecords

/// The calls of a store that never prompt.
///
/// These calls are for watches, and for callers that hold a lock, because other processes would wait for the lock
/// during a prompt.
package struct StoreWithoutPrompts: Sendable {
    let store: Store

    /// Loads an item like ``Store/load(service:account:until:)``, but never prompts.
    package func load(_ name: ItemName, until deadline: Deadline) throws(TokenKeepError) -> TokenItem {
        let call = try store.begin(.load, until: deadline).withoutPrompts
        return try store.unlocking.retrying(call, for: name) { call throws(TokenKeepError) in
            try store.load(name, call)
        }
    }

    /// Saves an item like ``Store/save(_:until:)``, but never prompts.
    ///
    /// - Parameter lease: copies of the vault's keys, which encrypt the item even after the vault was locked; nil for
    ///   none.
    @discardableResult
    package func save(
        _ request: SaveRequest, until deadline: Deadline? = nil, _ lease: SealingLease? = nil
    ) throws(TokenKeepError) -> SaveOutcome {
        try store.save(request, store.begin(.save, until: deadline).withoutPrompts.leasing(lease))
    }

    /// Clears an item like ``Store/clear(service:account:until:)``, but never prompts.
    package func clear(_ name: ItemName, until deadline: Deadline? = nil) throws(TokenKeepError) {
        _ = try store.clear(name, ifVersion: nil, store.begin(.clear, until: deadline).withoutPrompts)
    }

    /// Lists items like ``Store/list(service:until:)``, but never prompts.
    package func list(service: String?, until deadline: Deadline) throws(TokenKeepError) -> ItemListing {
        let call = try store.begin(.list, until: deadline).withoutPrompts
        if let service { _ = try store.name(service, "") }
        return try store.list(service, call)
    }

    /// Applies pending changes to modules, without prompts. For watches.
    ///
    /// Without this drain, a pending change would hide a later change by another program from the watch.
    ///
    /// - Returns: false if a module was asked to apply a change that is still pending afterwards.
    func drain(until deadline: Deadline) throws(TokenKeepError) -> Bool {
        store.reconciler.drainQuietly(try store.begin(.list, until: deadline).withoutPrompts)
    }

    /// Loads an item without prompts and without draining pending changes. For watches.
    ///
    /// Each attempt to drain announces a change. With a module that always refuses the pending change, a watch that
    /// drains would load the item endlessly.
    func loadUndrained(_ name: ItemName, until deadline: Deadline) throws(TokenKeepError) -> TokenItem {
        try store.reconciler.load(name, store.begin(.load, until: deadline).withoutPrompts, drains: false)
    }

    /// Reads the details of an item, without its secret. For watches.
    ///
    /// If the item is locked, the details come from the vault's record.
    func details(_ name: ItemName, until deadline: Deadline) throws(TokenKeepError) -> ItemDetails {
        do throws(TokenKeepError) {
            return try loadUndrained(name, until: deadline).details
        } catch {
            guard error.status == .locked, error.module == "vault", let details = try store.records.details(of: name)
            else {
                throw error
            }
            return details
        }
    }
}
