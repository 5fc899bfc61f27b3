import ArgumentParser
import TokenKeepEngine
import TokenKeepFleet

/// Completes services, accounts and devices of a fleet from the cached list. Does not query the registry.
enum FleetCompletion {
    static let services = NameCompletion.completing { store, line in
        sessions(store, line).map(\.value.service)
    }

    static let accounts = NameCompletion.completing { store, line in
        sessions(store, line).filter { $0.value.service == line.service }.map(\.value.account)
    }

    static let devices = NameCompletion.completing { store, line in
        listing(store, line)?.devices.map(\.value.name) ?? []
    }

    static let fleets = CompletionKind.custom { _, _, prefix in FleetFile.names.filter { $0.hasPrefix(prefix) } }

    private static func sessions(_ store: Store, _ line: CompletedLine) -> [FleetSession] {
        listing(store, line)?.sessions ?? []
    }

    private static func listing(_ store: Store, _ line: CompletedLine) -> FleetListing? {
        try? Fleet(line.value(of: "--fleet"), store).cachedListing()
    }
}
