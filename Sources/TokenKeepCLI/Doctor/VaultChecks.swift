import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords
import TokenKeepTerminal

/// Checks the configuration of the stack.
enum StackCheck {
    static func findings() -> [Finding] {
        do throws(TokenKeepError) {
            let configuration = StoreConfiguration()
            let stack = try configuration.readStack()
            let modules = try Store(configuration).savingModules
            return [.ok("stack", "\(modules.joined(separator: ", then ")), from \(stack.source)")]
        } catch {
            return [
                .problem(
                    "stack", error.message, because: "Without a stack no call knows where items are: every call fails.",
                    hint: error.hint ?? "tokenkeep stack show")
            ]
        }
    }
}

/// Checks the vault: its location, its password, its records, its pending writes, and the clock.
enum VaultChecks {
    /// The number of free bytes below which a problem is reported. A save needs a few KiB, and a change of keys needs a
    /// second copy of the vault.
    private static let scarce: UInt64 = 16 << 20

    private static func openRecords() throws(TokenKeepError) -> Records {
        try Store(StoreConfiguration(stackText: "any required vault")).records
    }

    /// Checks the vault's directory and its file system.
    static func vault() -> [Finding] {
        do throws(TokenKeepError) {
            let path = try VaultLocation.path()
            var findings = [try VaultChecks.state(path)]
            if let system = FileSystem(path) {
                findings += [system.kindFinding(of: path), system.spaceFinding(of: path, scarce)].compactMap(\.self)
            }
            return findings
        } catch {
            return [unusable("vault", error)]
        }
    }

    private static func state(_ path: String) throws(TokenKeepError) -> Finding {
        let records = try openRecords()
        guard let vault = try records.open() else {
            try records.checkMaking()
            return .ok("vault", "\(path): not made yet; the first save makes it")
        }
        let missing = try HeaderFiles.missing(in: vault.era)
        guard missing.isEmpty else {
            return .problem(
                "vault", "\(path): \(missing.joined(separator: ", ")), a copy of the keys, is missing",
                because: "If the other copy is lost, too, every item is lost. The next save writes the copy anew.",
                hint: "tokenkeep save SERVICE ACCOUNT")
        }
        return .ok("vault", "\(path): \(VaultState(records).words)")
    }

    private static func unusable(_ name: String, _ error: TokenKeepError) -> Finding {
        .problem(
            name, error.message, because: "Items in the vault cannot be used, and no module's outage can be bridged.",
            hint: error.hint ?? "tokenkeep status")
    }

    /// Checks whether a password protects the vault.
    static func password() -> [Finding] {
        guard let records = try? openRecords(), let found = try? records.open() else { return [] }
        let header = found.keys.header
        guard header.hasPassword else {
            return [
                .note(
                    "password", "the vault has no password: its keyfile opens it",
                    because: "Who has the disk or a backup of the home has the tokens, too.",
                    hint: "tokenkeep password set")
            ]
        }
        guard header.isRecoverable == nil else {
            return [.ok("password", "set; the keyfile alone opens nothing; a recovery code is set")]
        }
        return [
            .note(
                "password", "set; the keyfile alone opens nothing; there is no recovery code",
                because: "Without a recovery code a forgotten password loses every item.",
                hint: "tokenkeep recovery create")
        ]
    }

    /// Checks for records that cannot be read, and for files among the records that have no item's name.
    static func records() -> [Finding] {
        guard let records = try? openRecords(), let vault = try? records.open() else { return [] }
        do throws(TokenKeepError) {
            return findings(of: try records.census(of: vault))
        } catch {
            return [unusable("records", error)]
        }
    }

    private static func findings(of census: Records.Census) -> [Finding] {
        var findings: [Finding] = []
        if census.unreadable > 0 {
            findings.append(
                .problem(
                    "records", "\(CountedNouns.items(census.unreadable)) of the vault cannot be read",
                    because: "They were damaged, or set aside when they were. They are kept, and no call reads them.",
                    hint: "tokenkeep list"))
        }
        if census.misnamed > 0, let path = try? VaultLocation.path() {
            findings.append(
                .problem(
                    "records", "files beside the vault's items that have no item's name: \(census.misnamed)",
                    because: "A copy or a restore may have renamed items: no call reads them.",
                    hint: "ls -l \(ShellWord.quoted(path + "/current/records"))"))
        }
        guard findings.isEmpty else { return findings }
        return [.ok("records", "\(CountedNouns.items(census.items)) in the vault, none damaged")]
    }

    /// Checks for pending writes and removals. Makes one finding for each module, separately for this machine and for
    /// others.
    static func pending() -> [Finding] {
        guard let report = try? Store(StoreConfiguration()).pendingReport else { return [] }
        if let problem = report.problem, report.entries.isEmpty {
            return problem.module == "vault" && problem.status == .denied ? [] : [unusable("pending", problem)]
        }
        let lines = PendingText.lines(report).filter { !$0.hasPrefix("  ") }
        guard !lines.isEmpty else { return [.ok("pending", "nothing")] }
        let isElsewhere = report.entries.allSatisfy { !$0.isOfThisMachine }
        return lines.map {
            .problem(
                "pending", $0.dropPrefix("pending for "),
                because: "The vault answers for these items meanwhile; other programs do not see them.",
                hint: isElsewhere ? "tokenkeep status" : "tokenkeep sync")
        }
    }

    /// Checks whether the clock is behind the vault's last change, or earlier than this program's release.
    static func clock() -> [Finding] {
        let now = UnixTime.now.rawValue
        let released: Int64 = 1_767_225_600  // 2026
        guard now >= released else {
            return [behind("the clock says \(UnixTime.now.iso8601), before this program was made")]
        }
        var latest: Int64 = 0
        if let path = try? VaultLocation.path() {
            for file in ["", "/changes", "/lock"] {
                var status = stat()
                if stat(path + file, &status) == 0 { latest = max(latest, Int64(status.st_mtim.tv_sec)) }
            }
        }
        let tolerated: Int64 = 300
        guard latest > now + tolerated else { return [.ok("clock", UnixTime.now.iso8601)] }
        return [behind("the clock is \((latest - now) / 60) minutes behind the vault's last change")]
    }

    private static func behind(_ message: String) -> Finding {
        .problem(
            "clock", message,
            because:
                "Expired tokens count as good, servers refuse certificates, and the newer of two values is not known.",
            hint: "sudo timedatectl set-ntp true")
    }
}

extension String {
    /// Returns the text without the prefix; the whole text if it does not begin with the prefix.
    fileprivate func dropPrefix(_ prefix: String) -> String {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self
    }
}
