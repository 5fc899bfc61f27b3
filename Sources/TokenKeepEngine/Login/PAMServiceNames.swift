/// The names of PAM services that sign users in or unlock their screens.
package enum PAMServiceNames {
    /// The services that open a session after a password was given.
    package static let logins = [
        "login", "sshd", "gdm-password", "lightdm", "sddm", "greetd", "lxdm", "xdm", "ly", "xrdp-sesman", "su-l",
    ]
    /// The services that ask for the password of a user whose session is open.
    package static let lockers = [
        "kde", "xscreensaver", "xsecurelock", "swaylock", "hyprlock", "i3lock", "cinnamon-screensaver",
        "mate-screensaver", "xfce4-screensaver",
    ]
    /// Other names of such services, whose PAM files need no check.
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
