/// The names shown on the last page of a sign-in, so that the user sees which program requested it.
struct LoopbackNames {
    /// The name of the program that requested the sign-in.
    var program: String
    /// The name of the provider. Provider, service and account are not shown if they are nil.
    var provider: String?
    var service: String?
    /// The account that the user named.
    var account: String?

    init(program: String) { self.program = program }

    /// The names for a sign-in by this process.
    init(_ server: SignInServer, _ options: SignInOptions) {
        program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "The program"
        (provider, service, account) = (server.name, options.service, options.account)
    }

    /// The label and the name, as HTML, of each name that is shown.
    var rows: [(name: String, value: String)] {
        [("Provider", provider), ("Service", service), ("Account", account)].compactMap { name, value in
            value.map { (name, markup($0)) }
        }
    }

    /// Escapes text for HTML.
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
