import Glibc
import TokenKeepCore

/// Checks the environment of this process: ssh, cron, sudo, a container, WSL, Flatpak, the desktop.
struct EnvironmentCheck {
    let place: DoctorPlace

    func findings() -> [Finding] {
        let found = [user, start, container, sandbox, windows, desktop].compactMap(\.self)
        return found.isEmpty ? [.ok("environment", "nothing unusual")] : found
    }

    private func note(_ message: String, _ reason: String, _ hint: String) -> Finding {
        .note("environment", message, because: reason, hint: hint)
    }

    /// A finding if HOME belongs to another user, as after sudo; otherwise nil.
    private var user: Finding? {
        var status = stat()
        guard let home = ToolPlaces.variable("HOME"), stat(home, &status) == 0, status.st_uid != geteuid() else {
            return nil
        }
        let sudo = ToolPlaces.variable("SUDO_USER").map { " (sudo by \($0))" } ?? ""
        return .problem(
            "environment",
            "HOME is \(home), of user \(status.st_uid), and this program runs as user \(geteuid())\(sudo)",
            because: "Files that are made there belong to the wrong user, whose programs then cannot read them.",
            hint: "sudo -H tokenkeep doctor")
    }

    /// A finding about how this process was started; nil if a person at this machine started it.
    private var start: Finding? {
        if ToolPlaces.variable("SUDO_UID") != nil, geteuid() == 0, user == nil {
            return note(
                "sudo: this is root's vault", "Items of your own are not here, and root's keyring is another one.",
                "tokenkeep doctor")
        }
        if ToolPlaces.variable("SSH_CONNECTION") != nil || ToolPlaces.variable("SSH_TTY") != nil {
            return note(
                "a login by ssh",
                "Programs that want a keyring find none here, or one whose prompt appears on another screen.",
                "tokenkeep secret-service run -- COMMAND")
        }
        if Ancestors.names.contains(where: { ["cron", "crond", "atd", "anacron"].contains($0) }) {
            return note(
                "started by cron", "Nobody can be asked, and there is no message bus: the vault must open by a file.",
                "TOKENKEEP_PASSWORD_FILE=FILE COMMAND")
        }
        if ToolPlaces.variable("INVOCATION_ID") != nil, isatty(STDIN_FILENO) == 0 {
            return note(
                "a unit of systemd", "Nobody can be asked: the vault must open by a credential of systemd's.",
                "systemd-creds encrypt --name=tokenkeep.password - /etc/credstore.encrypted/tokenkeep.password")
        }
        return nil
    }

    private var container: Finding? {
        let isMarked = place.exists("/.dockerenv") || place.exists("/run/.containerenv")
        guard isMarked || ToolPlaces.variable("container") != nil else { return nil }
        return note(
            "a container",
            "It has no keyring of the desktop, often none of the kernel, and its files go with it unless they are on a volume.",
            "export TOKENKEEP_VAULT=/a/volume/tokenkeep")
    }

    private var sandbox: Finding? {
        if place.exists("/.flatpak-info") {
            return note(
                "Flatpak", "This vault is the application's own, in its data folder; the host's is not seen.",
                "flatpak-spawn --host tokenkeep doctor")
        }
        guard ToolPlaces.variable("SNAP_NAME") != nil else { return nil }
        return note("Snap", "This vault is the application's own; the host's is not seen.", "snap connections")
    }

    private var windows: Finding? {
        let release = place.text("/proc/sys/kernel/osrelease")?.lowercased() ?? ""
        guard release.contains("microsoft") else { return nil }
        return note(
            "WSL", "There is no keyring, and files below /mnt have no owner and no mode of their own.",
            "tokenkeep secret-service enable")
    }

    /// The desktops, as `XDG_CURRENT_DESKTOP` names them, on which Chromium and Electron use a keyring without a
    /// command-line option.
    private static let known: Set = [
        "GNOME", "UNITY", "KDE", "XFCE", "PANTHEON", "CINNAMON", "X-CINNAMON", "DEEPIN", "DDE", "LXQT", "UKUI", "MATE",
        "BUDGIE:GNOME",
    ]

    private var desktop: Finding? {
        guard let text = ToolPlaces.variable("XDG_CURRENT_DESKTOP") else { return nil }
        let names = text.uppercased().split(separator: ":" as Character).map(String.init)
        guard !names.contains(where: EnvironmentCheck.known.contains), !isForced else { return nil }
        return note(
            "Electron does not know the desktop \(text)",
            "VS Code, Signal and others encrypt with a key that everybody knows, though a keyring may run.",
            "code --password-store=gnome-libsecret")
    }

    /// Whether a program's file of command-line flags already selects the keyring.
    private var isForced: Bool {
        guard let home = try? ToolPlaces.home() else { return false }
        let config = ToolPlaces.variable("XDG_CONFIG_HOME") ?? "\(home)/.config"
        let files =
            ["\(home)/.vscode/argv.json"]
            + ["code", "electron", "chromium", "chrome"].map { "\(config)/\($0)-flags.conf" }
        return files.contains { SmallFile.text($0)?.contains("gnome-libsecret") == true }
    }
}

/// The ancestors of this process: its parent, the parent's parent and so on.
private enum Ancestors {
    private static let most = 32

    /// The names of the ancestors, the parent first.
    static var names: [String] {
        var names: [String] = []
        var process = Int(getppid())
        while process > 1, names.count < most, let text = SmallFile.text("/proc/\(process)/stat"),
            let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")"), open < close
        {
            names.append(String(text[text.index(after: open)..<close]))
            let words = text[text.index(after: close)...].split(separator: " " as Character)
            guard words.count > 1, let parent = Int(words[1]) else { break }
            process = parent
        }
        return names
    }
}
