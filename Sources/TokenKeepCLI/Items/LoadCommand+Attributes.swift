import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepSecretService

extension LoadCommand {
    /// Refuses options that cannot apply to an item of another program.
    func checkAttributes() throws {
        guard !attribute.isEmpty else {
            guard service != nil else { throw ValidationError("missing expected argument '<service>'") }
            return
        }
        guard account == nil, !json, !unexpired, freshFor == nil else {
            throw ValidationError("--attribute excludes an account, --json, --unexpired and --fresh-for")
        }
    }

    /// Writes the secret of the only item with the given attributes to standard output, whichever program saved the
    /// item.
    func writeFound() throws {
        let search = try ItemSearch(service: service, attributes: attribute, timeout: options.store.timeout)
        let found = try search.run()
        guard let item = found.items.first else {
            guard let collection = found.lockedCollections.first else {
                throw TokenKeepError(.notFound, "no item has these attributes", hint: "see tokenkeep search")
            }
            throw TokenKeepError(
                .locked, "no open item has these attributes, and the collection \(collection) is locked",
                hint: "unlock it in the keyring's own program (gnome-keyring: tokenkeep unlock --keyring)")
        }
        guard found.items.count == 1 else {
            let names = found.items.prefix(8).map { "\($0.label) (\($0.program.isEmpty ? $0.collection : $0.program))" }
            throw TokenKeepError(
                .invalid, "\(found.items.count) items have these attributes: \(names.joined(separator: ", "))",
                hint: "tokenkeep search --json shows attributes that tell them apart")
        }
        try search.secret(of: item).withUnsafeBytes { try Terminal.write($0) }
        if isatty(STDOUT_FILENO) == 1 { try Terminal.write("\n") }
    }
}
