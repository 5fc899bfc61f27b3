import TokenKeepRecords

/// Texts about the outcome of a login.
extension LastLogin {
    /// The outcome as a sentence.
    var sentence: String {
        switch outcome {
        case .unlocked: "the login's password opened the vault"
        case .wrongPassword: "the login's password does not open the vault"
        case .tooSlow: "the login was not given the time to derive the vault's key"
        case .noPassword: "the session began without a password"
        case .unreachable: "the vault or the kernel's keyring could not be used"
        case .notFollowed: "the login's password was changed, and the vault's was not"
        }
    }

    /// The advice for the user after this outcome; nil if the login unlocked the vault.
    var hint: String? {
        switch outcome {
        case .unlocked: nil
        case .wrongPassword: "for one password for both: tokenkeep password change, to the login's"
        case .tooSlow: "tokenkeep unlock; on a slow machine: timeout=15 behind pam_tokenkeep.so in the PAM service"
        case .noPassword: "a fingerprint, a key or an automatic login opens no vault: tokenkeep unlock"
        case .unreachable: "tokenkeep unlock says why; tokenkeep status says more"
        case .notFollowed: "tokenkeep password change, from the login's former password to its present one"
        }
    }

    /// The lines about the login in `tokenkeep status`. Empty unless the passwords of the login and of the vault differ.
    var problemLines: [String] {
        guard outcome == .wrongPassword || outcome == .notFollowed, let hint else { return [] }
        return ["login: \(sentence)", "  hint: \(hint)"]
    }
}
