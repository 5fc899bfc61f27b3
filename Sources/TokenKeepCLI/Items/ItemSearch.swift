import TokenKeepCore
import TokenKeepSecretService

/// A search of the Secret Service for items, whichever program saved them.
struct ItemSearch {
    /// The attributes in which programs store the service of an item.
    private static let serviceAttributes = ["service", "server", "Title", "profile"]

    private let service: String?
    private let attributes: [String: String]
    private let module: SecretServiceModule
    private let deadline: Deadline

    /// Parses the options.
    ///
    /// - Parameter attributes: conditions `NAME=VALUE`, all of which an item must meet.
    init(service: String?, attributes: [String], timeout: String?) throws(TokenKeepError) {
        self.service = service
        var wanted: [String: String] = [:]
        for text in attributes {
            guard let sign = text.firstIndex(of: "="), sign != text.startIndex else {
                throw TokenKeepError(.invalid, "--attribute takes NAME=VALUE")
            }
            wanted[String(text[..<sign])] = String(text[text.index(after: sign)...])
        }
        self.attributes = wanted
        let milliseconds = try timeout.map { (text) throws(TokenKeepError) in try Durations.timeout(text) } ?? 5000
        module = SecretServiceModule(searchingFor: milliseconds)
        deadline = Deadline(milliseconds: milliseconds)
    }

    /// Finds the items. Neither prompts the user nor reads a secret.
    func run() throws(TokenKeepError) -> FoundItems {
        guard let service else { return try search([attributes]) }
        let searches = ItemSearch.serviceAttributes.map { attributes.merging([$0: service]) { given, _ in given } }
        var found = try search(searches)
        // If a given condition has the name of a service attribute, the search had only the condition's value for it,
        // so check the service of each item.
        found.keep { item in ItemSearch.serviceAttributes.contains { item.attributes[$0] == service } }
        return found
    }

    private func search(_ searches: [[String: String]]) throws(TokenKeepError) -> FoundItems {
        do throws(TokenKeepError) {
            return try module.search(anyOf: searches, until: deadline)
        } catch {
            guard error.isAbsence, error.hint == nil else { throw error }
            throw TokenKeepError(
                error.status, error.message, module: error.module,
                hint: "tokenkeep list shows the items of the vault", isAbsence: true)
        }
    }

    /// Reads the secret of an item that the search found.
    func secret(of item: FoundItem) throws(TokenKeepError) -> SecretBytes {
        try module.secret(of: item, until: deadline)
    }
}

/// Texts that describe an item of another program.
extension FoundItem {
    /// The programs that save items with these schemas.
    private static let programs = [
        "org.tokenkeep.Item": "TokenKeep",
        "org.git.Password": "git",
        "com.microsoft.GitCredentialManager": "Git Credential Manager",
        "io.docker.Credentials": "docker",
        "org.qt.keychain": "QtKeychain",
        "org.gnome.keyring.NodeKeyTar": "keytar",
        "org.freedesktop.portal.Secret": "Secret portal",
        "org.gnome.OnlineAccounts": "GNOME Online Accounts",
        "org.gnome.keyring.NetworkPassword": "network password",
        "org.freedesktop.NetworkManager.Connection": "NetworkManager",
        "org.gnome.keyring.EncryptionKey": "encryption key",
        "org.remmina.Password": "Remmina",
        "org.gnome.Evolution.Data.Source": "Evolution",
    ]

    /// The program that wrote the item, by its schema or the attribute `application`; "" if unknown.
    var program: String {
        let schema = attributes["xdg:schema"] ?? ""
        if let program = FoundItem.programs[schema] { return program }
        if let application = attributes["application"] { return application }
        if attributes["tokenkeep:namespace"] != nil { return "TokenKeep" }
        return schema == "org.freedesktop.Secret.Generic" ? "" : schema
    }

    /// The service of the item; "" if the item has none of the attributes in which programs store a service.
    var service: String {
        for name in ["service", "tokenkeep:service", "server", "Title", "profile", "app_id", "origin_url"] {
            if let value = attributes[name] { return value }
        }
        return ""
    }

    /// The account of the item; "" if the item has none of the attributes in which programs store an account.
    var account: String {
        for name in ["username", "account", "tokenkeep:account", "user", "UserName"] {
            if let value = attributes[name] { return value }
        }
        return ""
    }
}
