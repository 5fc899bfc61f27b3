/// The names of PAM services that sign users in or unlock their screens.
package enum PAMServiceNames {
    /// Services that open a session after a password.
    package static let logins = [
        "login", "sshd", "gdm-password", "lightdm", "sddm", "greetd", "lxdm", "xdm", "ly", "xrdp-sesman", "su-l",
    ]
    /// Services that ask for the password of a session that is open.
    package static let lockers = [
        "kde", "xscreensaver", "xsecurelock", "swaylock", "hyprlock", "i3lock", "cinnamon-screensaver",
        "mate-screensaver", "xfce4-screensaver",
    ]
    /// Other names of such services, which have no file of their own to be checked.
    private static let others: Set = [
        "remote", "gdm", "gdm-autologin", "gdm-fingerprint", "gdm-smartcard", "kdm", "slim", "lemurs", "emptty",
        "cosmic-greeter", "kscreenlocker",
        "kde-fingerprint", "kde-smartcard", "physlock", "vlock", "waylock", "gtklock", "light-locker", "su",
    ]

    /// Whether a service signs users in or unlocks their screens.
    static func isLoginOrLocker(_ service: String) -> Bool {
        logins.contains(service) || lockers.contains(service) || others.contains(service)
    }
}
