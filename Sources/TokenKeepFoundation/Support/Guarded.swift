import TokenKeepCore

/// A value protected by a mutex.
///
/// With this alias, other files need not import TokenKeepCore, whose types have the same names as those of TokenKeep.
typealias Guarded<Value> = MutexGuarded<Value>
