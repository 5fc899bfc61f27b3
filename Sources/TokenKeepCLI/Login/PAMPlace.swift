import TokenKeepCore

/// A wrong position of the `auth` line of pam_tokenkeep.so in a service's stack.
enum PAMPlaceFault: Equatable {
    /// The line is before the module that checks the password.
    case before(String)
    /// PAM skips the line if the password is right, because this module then ends the stack or jumps over the line.
    case skipped(String)

    var words: String {
        switch self {
        case .before(let module): "before \(module)"
        case .skipped(let module): "where it is passed over: \(module) ends the stack before it, or jumps over it"
        }
    }

    var consequence: String {
        switch self {
        case .before: "It gets no password yet, or one that was not checked: the vault stays locked after a login."
        case .skipped: "It never gets the password: the vault stays locked after a login."
        }
    }
}

extension PAMServices {
    /// An `auth` line of a PAM service.
    struct AuthLine {
        let control: String
        let module: String
        /// The number of substacks that contain the line. The end of a substack does not end the service's stack.
        let substacks: Int
    }

    /// The modules that check a password.
    private static let checkers: Set = [
        "pam_unix.so", "pam_sss.so", "pam_ldap.so", "pam_krb5.so", "pam_winbind.so", "pam_systemd_home.so",
    ]

    /// Returns the fault of the position of TokenKeep's `auth` line in a service; nil if the position is right, or if
    /// the service has no such line or no module that checks a password.
    func placeFault(in service: String) -> PAMPlaceFault? {
        let lines = authLines(in: service, depth: 0, substacks: 0)
        guard let own = lines.firstIndex(where: { $0.module == PAMServices.module }),
            let checker = lines.firstIndex(where: { PAMServices.checkers.contains($0.module) })
        else { return nil }
        guard checker < own else { return .before(lines[checker].module) }
        for number in checker..<own where PAMServices.checkers.contains(lines[number].module) {
            let line = lines[number]
            // A success within a substack ends only that substack.
            guard line.substacks <= lines[own].substacks else { continue }
            if line.control == "sufficient" || line.control.contains("success=done") { return .skipped(line.module) }
            if let jump = PAMServices.jump(line.control), number + jump >= own { return .skipped(line.module) }
        }
        return nil
    }

    /// Returns the number of lines that PAM skips after a success of a line with this control; nil if PAM skips none.
    private static func jump(_ control: String) -> Int? {
        for word in control.split(whereSeparator: { $0 == "[" || $0 == "]" || $0.isWhitespace })
        where word.hasPrefix("success=") {
            return Int(word.dropFirst("success=".count))
        }
        return nil
    }

    /// Returns the `auth` lines of a service. The lines of an included file take the place of the line that includes
    /// the file.
    private func authLines(in service: String, depth: Int, substacks: Int) -> [AuthLine] {
        guard depth < PAMServices.maximumDepth, !service.contains("/"), let text = text(of: service) else { return [] }
        var lines: [AuthLine] = []
        for line in text.replacing("\\\n", with: " ").split(separator: "\n") {
            let words = PAMServices.words(line.prefix { $0 != "#" })
            if words.count >= 2, words[0] == "@include" {
                lines += authLines(in: words[1], depth: depth + 1, substacks: substacks)
            } else if words.count >= 3, words[0].drop(while: { $0 == "-" }).lowercased() == "auth" {
                if words[1] == "include" || words[1] == "substack" {
                    let inner = substacks + (words[1] == "substack" ? 1 : 0)
                    lines += authLines(in: words[2], depth: depth + 1, substacks: inner)
                } else {
                    let module = words[2].split(separator: "/").last.map(String.init) ?? ""
                    lines.append(AuthLine(control: words[1].lowercased(), module: module, substacks: substacks))
                }
            }
        }
        return lines
    }
}
