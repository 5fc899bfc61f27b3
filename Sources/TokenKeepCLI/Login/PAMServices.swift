import TokenKeepCore
import TokenKeepEngine

/// Finds the PAM services of logins, lockers and password changes, and the lines of `pam_tokenkeep.so` in them.
struct PAMServices {
    /// A service whose file exists.
    struct Found {
        let service: String
        /// The types of lines of pam_tokenkeep.so (`auth`, `session`, `password`) that the service needs but does not
        /// have.
        let missing: [String]
        let hasAuthentication: Bool

        var isComplete: Bool { missing.isEmpty }
    }

    /// The directories of service files. If several directories contain a service's file, the first one is used.
    let directories: [String]

    static let module = "pam_tokenkeep.so"
    private static let changers = ["passwd"]
    /// The maximum depth of includes, as in Linux-PAM.
    static let maximumDepth = 16

    /// Returns the services whose files exist, logins first.
    func found() -> [Found] {
        func check(_ services: [String], _ needed: [String]) -> [Found] {
            services.compactMap { service in
                guard text(of: service) != nil else { return nil }
                let present = types(in: service, depth: 0)
                return Found(
                    service: service, missing: needed.filter { !present.contains($0) },
                    hasAuthentication: present.contains("auth"))
            }
        }
        return check(PAMServiceNames.logins, ["auth", "session"]) + check(PAMServiceNames.lockers, ["auth"])
            + check(PAMServices.changers, ["password"])
    }

    /// Whether a service exists, and has no `auth` line of the module.
    func lacksAuthLine(_ service: String) -> Bool {
        text(of: service) != nil && !types(in: service, depth: 0).contains("auth")
    }

    /// The types of the module's lines in a service's file and in the files that it includes.
    private func types(in service: String, depth: Int) -> Set<String> {
        guard depth < PAMServices.maximumDepth, !service.contains("/"), let text = text(of: service) else { return [] }
        var types: Set<String> = []
        for line in text.replacing("\\\n", with: " ").split(separator: "\n") {
            let words = PAMServices.words(line.prefix { $0 != "#" })
            if words.count >= 2, words[0] == "@include" {
                types.formUnion(self.types(in: words[1], depth: depth + 1))
            } else if words.count >= 3 {
                let type = words[0].drop { $0 == "-" }.lowercased()
                if words[1] == "include" || words[1] == "substack" {
                    if self.types(in: words[2], depth: depth + 1).contains(type) { types.insert(type) }
                } else if words[2].split(separator: "/").last.map(String.init) == PAMServices.module {
                    types.insert(type)
                }
            }
        }
        return types
    }

    /// Splits a line into its words. A text in brackets, such as `[a b]`, is one word.
    static func words(_ line: Substring) -> [String] {
        var words: [String] = []
        var word = ""
        var isBracketed = false
        for character in line {
            if character.isWhitespace, !isBracketed {
                if !word.isEmpty { words.append(word) }
                word = ""
                continue
            }
            if character == "[" { isBracketed = true }
            if character == "]" { isBracketed = false }
            word.append(character)
        }
        return word.isEmpty ? words : words + [word]
    }

    func text(of service: String) -> String? {
        for directory in directories {
            if let file = (try? ConfigurationFile(path: "\(directory)/\(service)")) ?? nil { return file.text }
        }
        return nil
    }
}
