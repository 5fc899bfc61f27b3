package import TokenKeepCore

/// The paths of a user's keys in the registry (docs/fleet.md, "Paths").
package struct FleetPaths: Sendable {
    /// The prefix of all keys of the fleet: `/tokenkeep/FLEET/1/`.
    package let root: String
    /// The prefix of all keys of the user: `…/users/USER/`.
    package let user: String
    /// The id of the user.
    package let userID: String

    package init(fleet: String, userID: String) {
        root = FleetPaths.root(of: fleet)
        self.userID = userID
        user = "\(root)users/\(userID)/"
    }

    package static func root(of fleet: String) -> String { "/tokenkeep/\(fleet)/1/" }

    /// Checks that a fleet's name has 1 to 32 lower-case letters, digits and hyphens.
    ///
    /// - Throws: ``Status/invalid``.
    package static func check(fleet: String) throws(TokenKeepError) {
        let letters = "abcdefghijklmnopqrstuvwxyz0123456789-".utf8
        guard (1...32).contains(fleet.utf8.count), fleet.utf8.allSatisfy({ letters.contains($0) }) else {
            throw TokenKeepError(
                .invalid, "the name of a fleet has 1 to 32 lower-case letters, digits and hyphens")
        }
    }

    /// Whether a text is an id in a path: exactly `digits` lower-case hexadecimal digits.
    package static func isID(_ text: some StringProtocol, digits: Int) -> Bool {
        text.utf8.count == digits && text.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }

    package var users: String { "\(root)users/" }
    package var names: String { "\(root)names/" }
    package func name(of userID: String) -> String { "\(root)names/\(userID)" }

    package var devices: String { "\(user)devices/" }
    package func device(_ device: String) -> String { "\(user)devices/\(device)" }
    package func present(_ device: String) -> String { "\(user)present/\(device)" }
    package var sessions: String { "\(user)sessions/" }
    package func session(_ account: String, _ device: String) -> String { "\(user)sessions/\(account)/\(device)" }
    package func orders(of device: String) -> String { "\(user)orders/\(device)/" }
    package func order(_ device: String, _ id: String) -> String { "\(user)orders/\(device)/\(id)" }
    package var everywheres: String { "\(user)everywhere/" }
    package func everywhere(_ account: String) -> String { "\(user)everywhere/\(account)" }
    package var results: String { "\(user)results/" }
    package func result(_ id: String) -> String { "\(user)results/\(id)" }

    /// The components of a path after `users/USER/`; nil if the path is not of this user.
    package func parts(of path: String) -> [String]? {
        guard path.utf8.starts(with: user.utf8) else { return nil }
        return String(decoding: path.utf8.dropFirst(user.utf8.count), as: UTF8.self)
            .split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    }
}
