/// The names that the program owns, and the other keyrings of the user.
extension Provider {
    /// Notes that a name on the bus has another owner.
    func nameChanged(_ name: String, _ owner: String) {
        let isOurs = name == Provider.name || name == Provider.ownName
        guard isOurs, !owner.isEmpty, owner != bus.uniqueName else { return }
        Log.line("another program took \(name)")
        ending = .finished
    }
}
