import TokenKeepCore

/// Lists and destroys indices of the TPM whose vault no longer exists.
extension Devices {
    /// An index of the TPM that belongs to the user.
    package struct UserIndex: Equatable, Sendable {
        /// The purpose of an index.
        package enum Use: String, Sendable {
            /// The secret of the level ``AccessLevel/whenPasscodeSetThisDeviceOnly``.
            case secret
            /// The anchor, which names the header in force.
            case anchor
        }

        package let number: UInt32
        package let use: Use
        package let vaultID: [UInt8]

        init(_ index: TPM.Index) {
            number = index.number
            use = index.kind == .anchor ? .anchor : .secret
            vaultID = index.vaultID
        }
    }

    /// Destroys all of the user's indices in the TPM for a vault.
    func destroyIndices(of vaultID: [UInt8]) throws(DeviceFault) {
        try destroy(try tpm.indices(of: vaultID, until: Devices.deadline))
    }

    /// Lists the user's indices that no known vault uses. The known vaults are `vault`, and the vaults that were
    /// unlocked since the machine's start and still exist at their paths.
    ///
    /// Indices of any other vault are listed, even if that vault exists elsewhere, for example on a removed disk.
    package func orphanedIndices(except vault: OpenVault?, _ keys: ClassKeyStore) throws(DeviceFault) -> [UserIndex] {
        let unused = vault.map { Set(remainingIndices(of: $0)) }
        return try tpm.indices(until: Devices.deadline).map(UserIndex.init).filter { index in
            if let vault, index.vaultID == vault.keys.vaultID { return unused?.contains(index.number) == true }
            guard let trust = (try? keys.trust(of: index.vaultID)) ?? nil else { return true }
            return trust.isLost(index.vaultID)
        }
    }

    /// Destroys the given indices of the user.
    package func destroy(_ indices: [UserIndex]) throws(DeviceFault) {
        let numbers = Set(indices.map(\.number))
        try destroy(
            try tpm.indices(until: Devices.deadline).filter {
                // Compare all fields, because another vault may have taken the number since the indices were listed.
                numbers.contains($0.number) && indices.contains(UserIndex($0))
            })
    }

    private func destroy(_ indices: [TPM.Index]) throws(DeviceFault) {
        guard !indices.isEmpty else { return }
        let name = try tpm.describe(until: Devices.deadline).name
        for index in indices {
            let owner = TPM.IndexOwner(name: name, kind: index.kind, vaultID: index.vaultID)
            try tpm.destroyIndex(index.number, of: owner, until: Devices.deadline)
        }
    }
}
