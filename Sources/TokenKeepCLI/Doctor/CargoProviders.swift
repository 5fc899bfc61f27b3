/// The credential providers in cargo's configuration, with their aliases resolved.
struct CargoProviders {
    /// A program with its arguments.
    struct Provider {
        let program: String
        /// The alias by which the configuration names the program; nil without one.
        let alias: String?
    }

    /// The providers that are part of cargo. An alias with the name of such a provider has no effect.
    private static let builtIn = [
        "cargo:token", "cargo:paseto", "cargo:token-from-stdout", "cargo:wincred", "cargo:macos-keychain",
        "cargo:libsecret",
    ]

    /// The providers for every registry without a provider of its own, in the order of the file. cargo queries the last
    /// provider first.
    private(set) var global: [Provider] = []
    /// The providers that are set for one registry alone, each with the registry's name for people.
    private(set) var own: [(registry: String, provider: Provider)] = []
    /// Whether cargo queries the global providers for at least one registry, crates.io included.
    private(set) var usesGlobal = true

    init(in text: String) {
        let settings = TOMLSettings(text).all
        var aliases: [String: [String]] = [:]
        for setting in settings where setting.path.count == 2 && setting.path[0] == "credential-alias" {
            aliases[setting.path[1]] = CargoProviders.words(setting)
        }
        let provider = { (words: [String]) in CargoProviders.provider(words, aliases) }
        if let list = settings.first(where: { $0.path == ["registry", "global-credential-providers"] }) {
            global = list.strings.compactMap { provider(CargoProviders.words(in: $0)) }
        }
        if let setting = settings.first(where: { $0.path == ["registry", "credential-provider"] }),
            let provider = provider(CargoProviders.words(setting))
        {
            own.append(("crates.io", provider))
            usesGlobal = false
        }
        var names: [String] = []
        for setting in settings where setting.path.count == 3 && setting.path[0] == "registries" {
            if !names.contains(setting.path[1]) { names.append(setting.path[1]) }
        }
        for name in names {
            let setting = settings.first { $0.path == ["registries", name, "credential-provider"] }
            if let provider = setting.flatMap({ provider(CargoProviders.words($0)) }) {
                own.append(("the registry \(name)", provider))
            } else {
                usesGlobal = true
            }
        }
    }

    /// Returns the program and the arguments in a setting: the strings of a list, or the words of a string.
    private static func words(_ setting: TOMLSettings.Setting) -> [String] {
        setting.isList ? setting.strings : setting.strings.first.map(words) ?? []
    }

    private static func words(in text: String) -> [String] {
        text.split(whereSeparator: \.isWhitespace).map(String.init)
    }

    /// Returns the provider that the words name; nil if there are no words. An alias is resolved only if it has no
    /// arguments.
    private static func provider(_ words: [String], _ aliases: [String: [String]]) -> Provider? {
        guard let first = words.first else { return nil }
        guard words.count == 1, !builtIn.contains(first), let program = aliases[first]?.first else {
            return Provider(program: first, alias: nil)
        }
        return Provider(program: program, alias: first)
    }
}
