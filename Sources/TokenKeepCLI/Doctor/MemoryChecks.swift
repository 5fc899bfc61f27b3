import Glibc
import TokenKeepCore
import TokenKeepKeys

/// Checks this process's memory and the kernel's keyring.
enum MemoryChecks {
    static func memory() -> [Finding] {
        guard (try? GuardedPool.shared.isLocked()) != true else {
            return [.ok("memory", "secrets are locked in memory")]
        }
        return [
            .note(
                "memory", "secrets in memory are not locked",
                because: "The system may write them into the swap space.", hint: "ulimit -l")
        ]
    }

    /// Checks whether the kernel's keyring accepts a key, by keeping a test key in it for one second.
    static func kernelKeyring() -> [Finding] {
        if let obstacle = KernelKeyring.obstacle ?? KernelKeyring.probe() {
            let isFull = quota.map { $0.keys.isFull || $0.bytes.isFull } ?? false
            let counts = isFull ? quota.map { " (\($0.words))" } ?? "" : ""
            return [
                .problem(
                    "kernel-keyring", obstacle + counts,
                    because: "A vault with a password stays locked after tokenkeep unlock, and asks in each program.",
                    hint: isFull ? "keyctl show @u" : "tokenkeep run -- COMMAND")
            ]
        }
        guard let quota else { return [.ok("kernel-keyring", "keeps keys")] }
        guard quota.isNearlyFull else { return [.ok("kernel-keyring", "keeps keys: \(quota.words)")] }
        return [
            .note(
                "kernel-keyring", "nearly full: \(quota.words)",
                because: "When it is full, an unlock leaves the vault locked.", hint: "keyctl show @u")
        ]
    }

    private struct Quota {
        struct Share {
            let used, limit: Int
            var isFull: Bool { used >= limit - 1 }
            var isNearlyFull: Bool { used >= limit / 10 * 9 }
        }

        let keys, bytes: Share
        var isNearlyFull: Bool { keys.isNearlyFull || bytes.isNearlyFull }
        var words: String {
            "\(keys.used) of \(keys.limit) keys, \(bytes.used) of \(bytes.limit) bytes"
        }
    }

    /// The user's quota of kernel keys: `UID: USAGE KEYS/… QUOTAKEYS/MAXKEYS QUOTABYTES/MAXBYTES` (proc(5)).
    private static var quota: Quota? {
        guard let text = SmallFile.text("/proc/key-users") else { return nil }
        for line in text.split(separator: "\n" as Character) {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard words.count == 5, words[0] == "\(getuid()):", let keys = share(words[3]), let bytes = share(words[4])
            else { continue }
            return Quota(keys: keys, bytes: bytes)
        }
        return nil
    }

    private static func share(_ word: Substring) -> Quota.Share? {
        let numbers = word.split(separator: "/" as Character).compactMap { Int($0) }
        return numbers.count == 2 ? Quota.Share(used: numbers[0], limit: numbers[1]) : nil
    }
}
