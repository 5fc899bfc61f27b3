import TokenKeepCore

/// What a module is told when it is opened.
struct PluginOptions: Sendable {
    let name: String
    let arguments: [String]
    /// Whether the words of a program on standard error are shown if `TOKENKEEP_DEBUG=1`.
    var repeatsWords = false
    /// Calls whoever wants to know that items may have changed.
    let changed: @Sendable () -> Void
}

/// How a module is spoken to. All of it happens on the module's one thread.
protocol PluginTransport: Sendable {
    /// What the module says that it can do, as far as it said so.
    var capabilities: PluginCapabilities { get }

    /// Whether metadata comes back as it was saved; asks the module where it did not say so yet.
    func keepsMetadata(_ call: PluginCall) throws(TokenKeepError) -> Bool

    /// The item, as the module gave it.
    ///
    /// - Throws: ``Status/notFound``, and what else the module says.
    func load(_ name: ItemName, _ call: PluginCall) throws(TokenKeepError) -> AnsweredItem

    /// Keeps the item.
    func save(_ item: TokenItem, _ call: PluginCall) throws(TokenKeepError)

    /// Removes the item; throws ``Status/notFound`` where there is none.
    func clear(_ name: ItemName, _ call: PluginCall) throws(TokenKeepError)

    /// The items of a namespace and, where given, a service.
    func list(namespace: String, service: String?, _ call: PluginCall) throws(TokenKeepError) -> [AnsweredItem]

    /// Does what needs the user.
    func prepare(_ call: PluginCall) throws(TokenKeepError)

    /// How the module is, in lines.
    func report(_ call: PluginCall) throws(TokenKeepError) -> [String]

    /// Ends what the next call can start anew.
    func rest()

    /// Ends the module's part of it.
    func close()
}

/// What a module says that it can do. The numbers are those of `tokenkeep/module.h`.
package struct PluginCapabilities: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Metadata comes back as it was saved.
    package static let keepsMetadata = PluginCapabilities(rawValue: 32)
    /// It tells of changes by others.
    package static let watches = PluginCapabilities(rawValue: 64)
    /// It saves and clears. Not of the header: the module's functions say it.
    package static let saves = PluginCapabilities(rawValue: 1 << 30)
    /// It lists. Not of the header either.
    package static let lists = PluginCapabilities(rawValue: 1 << 31)

    /// The words for each, as programs spell them.
    static let words: [(word: String, capability: PluginCapabilities)] = [
        ("enforces-other-user", PluginCapabilities(rawValue: 1)),
        ("enforces-disk-theft", PluginCapabilities(rawValue: 2)),
        ("enforces-other-machine", PluginCapabilities(rawValue: 4)),
        ("enforces-screen-lock", PluginCapabilities(rawValue: 8)),
        ("enforces-presence", PluginCapabilities(rawValue: 16)),
        ("keeps-metadata", .keepsMetadata), ("watches", .watches), ("saves", .saves), ("lists", .lists),
    ]

    /// Its words, in a fixed order.
    package var names: [String] {
        PluginCapabilities.words.filter { contains($0.capability) }.map(\.word)
    }
}
