import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

extension VaultCommand {
    /// `tokenkeep vault orphans`.
    struct Orphans: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "orphans",
            abstract: "List your indices in the TPM that no vault here uses, and free them.",
            discussion: """
                A user has four indices in the TPM, and a vault needs two. Those of a vault that was removed without tokenkeep \
                vault delete stay taken. A vault that lies elsewhere, as in a container or on a disk that is away, and was not \
                unlocked since the machine's start, is not known here: look at the vault's id before you free its indices. \
                Freed indices cannot be brought back: such a vault loses its items of the level \
                when-passcode-set-this-device-only.

                  tokenkeep vault orphans
                  tokenkeep vault orphans --free 0x01800000
                """.withWholeExamples)

        @Flag(help: "Free the indices that are named, or all that are listed.")
        var free = false

        @Flag(help: "Do not ask.")
        var yes = false

        @Flag(help: "Write a JSON object.")
        var json = false

        @Argument(help: ArgumentHelp("The number of an index, as it is listed.", valueName: "index"))
        var indices: [String] = []

        @OptionGroup(title: "Store options")
        var options: StoreOptions

        func validate() throws {
            guard free || indices.isEmpty else { throw ValidationError("an index is named with --free alone") }
            guard free || !yes else { throw ValidationError("--yes goes with --free") }
            guard !(free && json) else { throw ValidationError("--free and --json exclude each other") }
        }

        func prepare() throws { _ = try indices.map(Orphans.number) }

        func run(_ store: Store) throws {
            let numbers = try indices.map(Orphans.number)
            let removal = store.vaultRemoval
            let found = try removal.orphans()
            guard free else { return try Terminal.write(json ? JSONOutput.text(Object(found)) : Orphans.table(found)) }
            for number in numbers where !found.contains(where: { $0.number == number }) {
                throw TokenKeepError(
                    .notFound, "\(Orphans.text(number)) is no index of yours that no vault uses",
                    hint: "tokenkeep vault orphans lists them")
            }
            let chosen = numbers.isEmpty ? found : found.filter { numbers.contains($0.number) }
            guard !chosen.isEmpty else { return }
            try confirm(chosen)
            try removal.free(chosen)
        }

        private static func number(_ text: String) throws(TokenKeepError) -> UInt32 {
            guard text.hasPrefix("0x"), let number = UInt32(text.dropFirst(2), radix: 16) else {
                throw TokenKeepError(.invalid, "\(text) is no index: write it as 0x01800000")
            }
            return number
        }

        private func confirm(_ chosen: [Devices.UserIndex]) throws {
            guard !yes else { return }
            guard isatty(STDIN_FILENO) == 1, Terminal.showsErrors else {
                throw TokenKeepError(
                    .invalid, "--free asks before it does anything, and there is no terminal", hint: "add --yes")
            }
            let vaults = Set(chosen.map(\.vaultID)).map(Hexadecimal.text).sorted()
            Terminal.ask(
                "free \(chosen.map { Orphans.text($0.number) }.joined(separator: ", ")) of "
                    + "\(vaults.count == 1 ? "the vault" : "the vaults") \(vaults.joined(separator: ", "))? [y/N] ")
            guard Terminal.agrees() else { throw TokenKeepError(.cancelled, "nothing was freed") }
        }

        private static func text(_ number: UInt32) -> String {
            let digits = String(number, radix: 16)
            return "0x" + String(repeating: "0", count: 8 - digits.count) + digits
        }

        private static func table(_ found: [Devices.UserIndex]) -> String {
            guard !found.isEmpty else { return "" }
            var table = Table(header: ["INDEX", "USE", "VAULT"])
            for index in found {
                table.add([text(index.number), index.use.rawValue, Hexadecimal.text(index.vaultID)])
            }
            return table.text
        }

        private struct Object: Encodable {
            struct Index: Encodable { let index, use, vault: String }
            let orphans: [Index]

            init(_ found: [Devices.UserIndex]) {
                orphans = found.map {
                    Index(index: Orphans.text($0.number), use: $0.use.rawValue, vault: Hexadecimal.text($0.vaultID))
                }
            }
        }
    }
}
