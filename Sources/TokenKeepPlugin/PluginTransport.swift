import TokenKeepCore

/// The settings that a module receives when it is opened.
struct PluginOptions: Sendable {
    let name: String
    let arguments: [String]
    /// Whether a program's standard error is shown if `TOKENKEEP_DEBUG=1`.
    var repeatsWords = false
    /// The module calls this function after changes of its items.
    let changed: @Sendable () -> Void
}

/// The connection to a module. Used only on the module's thread.
protocol PluginTransport: Sendable {
    /// The capabilities that the module has reported so far.
    var capabilities: PluginCapabilities { get }

    /// Whether the module returns metadata as it was saved. Queries the module if it has not reported this yet.
    func keepsMetadata(_ call: PluginCall) throws(TokenKeepError) -> Bool

    /// Loads the item as the module returns it, without checks.
    ///
    /// - Throws: ``Status/notFound`` if the module does not have the item; other errors of the module.
    func load(_ name: ItemName, _ call: PluginCall) throws(TokenKeepError) -> AnsweredItem

    /// Saves the item.
    func save(_ item: TokenItem, _ call: PluginCall) throws(TokenKeepError)

    /// Removes the item.
    ///
    /// - Throws: ``Status/notFound`` if the module does not hold the item.
    func clear(_ name: ItemName, _ call: PluginCall) throws(TokenKeepError)

    /// Lists the items of a namespace.
    ///
    /// - Parameter service: lists only items of this service; nil for all services.
    func list(namespace: String, service: String?, _ call: PluginCall) throws(TokenKeepError) -> [AnsweredItem]

    /// Does the module's work that may need the user.
    func prepare(_ call: PluginCall) throws(TokenKeepError)

    /// The module's remarks on its condition, one line each.
    func report(_ call: PluginCall) throws(TokenKeepError) -> [String]

    /// Releases resources that the next call can acquire again.
    func rest()

    /// Closes the module's handle.
    func close()
}

/// The capabilities that a module reports. The numbers are those of `tokenkeep/module.h`.
package struct PluginCapabilities: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The module returns metadata as it was saved.
    package static let keepsMetadata = PluginCapabilities(rawValue: 32)
    /// The module reports changes made by other programs.
    package static let watches = PluginCapabilities(rawValue: 64)
    /// The module saves and clears. Derived from the module's functions, and not defined in the header.
    package static let saves = PluginCapabilities(rawValue: 1 << 30)
    /// The module lists items. Derived from the module's functions, and not defined in the header.
    package static let lists = PluginCapabilities(rawValue: 1 << 31)

    /// The names of the capabilities in the protocol for programs.
    static let words: [(word: String, capability: PluginCapabilities)] = [
        ("enforces-other-user", PluginCapabilities(rawValue: 1)),
        ("enforces-disk-theft", PluginCapabilities(rawValue: 2)),
        ("enforces-other-machine", PluginCapabilities(rawValue: 4)),
        ("enforces-screen-lock", PluginCapabilities(rawValue: 8)),
        ("enforces-presence", PluginCapabilities(rawValue: 16)),
        ("keeps-metadata", .keepsMetadata), ("watches", .watches), ("saves", .saves), ("lists", .lists),
    ]

    /// The names of these capabilities, in a fixed order.
    package var names: [String] {
        PluginCapabilities.words.filter { contains($0.capability) }.map(\.word)
    }
}
