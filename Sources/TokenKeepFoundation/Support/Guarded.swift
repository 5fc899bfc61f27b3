import TokenKeepCore

/// A value behind a mutex. Has a name of its own, so that other files need not import TokenKeepCore, whose types have the
/// names of TokenKeep's.
typealias Guarded<Value> = MutexGuarded<Value>
