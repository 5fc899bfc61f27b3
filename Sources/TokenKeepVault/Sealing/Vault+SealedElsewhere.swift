import TokenKeepCore

extension Vault {
    /// Reaches what the vault sealed for other modules by `provider` from now on.
    package func reachSealedItems(_ provider: @escaping SealedPlacesProvider) {
        sealedPlaces.withLock { $0 = provider }
    }

    /// Seals anew what other modules hold under keys that are being replaced.
    ///
    /// A module that was gone through is not looked at again, by whichever process goes on.
    ///
    /// - Returns: how many items no key opens: they stay as they are.
    /// - Throws: what keeps an item from being sealed anew that may be readable later.
    func sealElsewhereAnew(
        of opened: Opened, _ presence: PresenceGrant, _ call: CallContext
    ) throws(TokenKeepError) -> Int {
        let marks = ModuleMarks(.sealed, opened.directory)
        var unreadable = 0
        var obstacle: TokenKeepError?
        for mark in try marks.all() where try marks.epoch(of: mark) != opened.keys.header.epoch {
            do throws(TokenKeepError) {
                unreadable += try sealAnew(mark, call.granting(presence))
                try marks.setEpoch(opened.keys.header.epoch, of: mark)
            } catch {
                obstacle = obstacle ?? error
            }
        }
        if let obstacle { throw obstacle }
        return unreadable
    }

    private func sealAnew(_ mark: ModuleMark, _ call: CallContext) throws(TokenKeepError) -> Int {
        var unreadable = 0
        var obstacle: TokenKeepError?
        let places = try places(of: mark)
        for item in try places.sealedItems(in: mark.module, call) {
            do throws(TokenKeepError) {
                try places.sealAnew(item.name, in: mark.module, call)
            } catch {
                if error.status == .corrupt { unreadable += 1 } else { obstacle = obstacle ?? error }
            }
        }
        if let obstacle { throw obstacle }
        return unreadable
    }

    /// The items that other modules hold sealed and that demand what only a password gives.
    func protectedElsewhere(
        _ opened: Opened, _ call: CallContext
    ) throws(TokenKeepError) -> [ItemDetails] {
        var protected: [ItemDetails] = []
        for mark in try ModuleMarks(.sealed, opened.directory).all() {
            protected += try places(of: mark).sealedItems(in: mark.module, call).filter {
                !$0.flags.isDisjoint(with: .demands)
            }
        }
        return protected
    }

    /// Clears those items.
    func destroyProtectedElsewhere(_ opened: Opened, _ call: CallContext) throws(TokenKeepError) {
        for item in try protectedElsewhere(opened, call) {
            try sealedPlaces.withLock { $0 }()?.clear(item.name, call)
        }
    }

    private func places(of mark: ModuleMark) throws(TokenKeepError) -> any SealedPlaces {
        guard mark.machine == .current else {
            throw TokenKeepError(
                .unavailable, "\(mark.module) on another machine may hold items that the vault sealed",
                module: mark.module,
                hint: "run tokenkeep unlock there; if it is no more, remove sealed/\(mark.fileName) from the vault")
        }
        guard let places = sealedPlaces.withLock({ $0 })() else {
            throw TokenKeepError(
                .unavailable, "nothing here reaches the items that the vault sealed in \(mark.module)",
                module: mark.module, hint: "run tokenkeep unlock")
        }
        return places
    }
}
