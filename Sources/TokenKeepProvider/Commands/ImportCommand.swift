import CGcrypt
import CSystemdBus
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// `import`: imports the items of the keyring that owns `org.freedesktop.secrets`.
enum ImportCommand {
    /// Imports the items, and prints how many were imported, kept and refused.
    ///
    /// - Throws: ``Status/corrupt`` if an item cannot be read or removed, or exceeds the vault's limits. All other items
    ///   are still imported.
    static func run(_ options: ProviderOptions) throws(TokenKeepError) {
        guard tokenkeep_gcrypt_start() == 0 else { throw TokenKeepError(.internal, "libgcrypt cannot be used") }
        let store = try Store(StoreConfiguration(stackText: "any required vault"))
        try StartUnlock.unlock(store, options)
        let bus = try Bus()
        // Compare the vaults after the keyring's first call, because the bus may have started our own provider for that
        // call.
        let keyring = try ForeignKeyring(bus)
        try refuseOwnVault(bus, keyring, store)
        var run = try KeyringImport(keyring, store, isDryRun: options.isDryRun, isReplacing: options.replaces)
        let plan = try ImportPlan(keyring, known: run.collections, isVerbatim: options.isVerbatim)
        try run.run(plan)
        let refused = plan.refused + run.refused
        let removal = options.removes && !options.isDryRun ? try run.removeVerified() : nil
        let words = [
            "\(options.isDryRun ? "would import" : "imported") \(run.imported)", "already there \(run.present)",
            "kept \(run.kept)", "not readable \(refused)",
            plan.leftOut > 0 ? "left out \(plan.leftOut), which --verbatim imports" : nil,
            removal.map { "removed \($0.removed)" },
        ]
        print(words.compactMap(\.self).joined(separator: ", "))
        guard refused == 0 else { throw TokenKeepError(.corrupt, "some items were not imported") }
        guard removal?.left ?? 0 == 0 else { throw TokenKeepError(.corrupt, "some items stay in the keyring") }
    }

    /// Throws ``Status/policy`` if the keyring is a provider of this vault, or if neither the provider nor this store
    /// has a vault yet.
    private static func refuseOwnVault(
        _ bus: Bus, _ keyring: ForeignKeyring, _ store: Store
    ) throws(TokenKeepError) {
        guard let owner = bus.process(of: keyring.owner), owner == bus.process(of: Provider.ownName) else { return }
        // The provider may create its vault between the two reads, so the vaults count as different only if they differ
        // twice.
        if try !servesOurs(bus, store) {
            guard try servesOurs(bus, store) else { return }
        }
        throw TokenKeepError(
            .policy, "the owner of \(Provider.name) serves this vault: there is no other keyring to import from",
            hint: "tokenkeep secret-service disable, end the provider, and start the other keyring")
    }

    private static func servesOurs(_ bus: Bus, _ store: Store) throws(TokenKeepError) -> Bool {
        // Read the provider's identifier first: when a provider reports a vault, the vault exists, so the second read
        // finds it.
        let theirs = bus.vaultID()
        return try theirs == Hexadecimal.text(store.records.opener.vaultID() ?? [])
    }
}

extension Bus {
    /// The identifier of the vault that the running provider serves; nil if no provider answers.
    func vaultID() -> String? {
        var answer: OpaquePointer?
        guard
            sd_bus_get_property(
                raw, Provider.ownName, Provider.ownPath, Provider.ownName, "VaultId", nil, &answer, "s") >= 0,
            let answer
        else { return nil }
        defer { sd_bus_message_unref(answer) }
        do throws(Refusal) { return try BusMessage(answer).string() } catch { return nil }
    }
}
