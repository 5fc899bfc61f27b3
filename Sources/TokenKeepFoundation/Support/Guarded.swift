import TokenKeepCore

/// A value behind a mutex. The other files do not import TokenKeepCore: its names are those of TokenKeep.
typealias Guarded<Value> = MutexGuarded<Value>
