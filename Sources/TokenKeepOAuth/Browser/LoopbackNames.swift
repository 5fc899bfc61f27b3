/// The names on the page that ends a sign-in. The browser's user sees who asked for what.
struct LoopbackNames {
    /// The program that asked.
    var program: String
    /// The provider; nil if it is not shown, as the next two.
    var provider: String?
    var service: String?
    /// The account that was asked for.
    var account: String?

    init(program: String) { self.program = program }

    /// The names of a sign-in by this program.
    init(_ server: SignInServer, _ options: SignInOptions) {
        program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "The program"
        (provider, service, account) = (server.name, options.service, options.account)
    }

    /// The names in HTML, with what they are.
    var rows: [(name: String, value: String)] {
        [("Provider", provider), ("Service", service), ("Account", account)].compactMap { name, value in
            value.map { (name, markup($0)) }
        }
    }

    /// A text in HTML.
    func markup(_ text: String) -> String {
        text.reduce(into: "") { markup, character in
            switch character {
            case "&": markup += "&amp;"
            case "<": markup += "&lt;"
            case ">": markup += "&gt;"
            case "\"": markup += "&quot;"
            default: markup.append(character)
            }
        }
    }
}
