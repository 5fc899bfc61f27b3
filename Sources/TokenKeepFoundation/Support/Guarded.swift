import TokenKeepCore

/// A value protected by a mutex.
///
/// The alias spares other files an import of TokenKeepCore, whose types have the same names as TokenKeep's.
typealias Guarded<Value> = MutexGuarded<Value>
