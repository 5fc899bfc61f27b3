import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The state of the vault: whether it exists, has a password and is unlocked.
enum VaultState: Equatable {
    case absent, withoutPassword, locked, partlyUnlocked, unlocked
    case unusable(TokenKeepError)

    init(_ records: Records) {
        do throws(TokenKeepError) {
            guard let keys = try records.open()?.keys else {
                try records.checkMaking()
                self = .absent
                return
            }
            guard keys.header.hasPassword else {
                self = .withoutPassword
                return
            }
            let isOpen = keys.isOpen(.level(.afterFirstUnlock))
            self = keys.isWhollyOpen ? .unlocked : isOpen ? .partlyUnlocked : .locked
        } catch {
            self = .unusable(error)
        }
    }

    /// The name of the state in JSON.
    var name: String {
        switch self {
        case .absent: "absent"
        case .withoutPassword: "without-password"
        case .locked: "locked"
        case .partlyUnlocked: "unlocked-partly"
        case .unlocked: "unlocked"
        case .unusable: "unusable"
        }
    }

    /// The description of the state for a person.
    var words: String {
        switch self {
        case .absent: "not made yet: the first save makes it"
        case .withoutPassword: "has no password: there is nothing to unlock"
        case .locked: "locked"
        case .partlyUnlocked: "unlocked but for items of the level when-unlocked"
        case .unlocked: "unlocked"
        case .unusable(let error): error.message
        }
    }

    static func == (left: VaultState, right: VaultState) -> Bool { left.name == right.name }
}
