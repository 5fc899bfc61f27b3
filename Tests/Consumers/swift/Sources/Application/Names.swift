import OtherLibrary
import TokenKeep

/// A type of the application's own, with the name of a type inside TokenKeep.
struct SaveRequest {}

/// None of these names is ambiguous, although both libraries are imported.
typealias Names = (
    AccessLevel, Cancellation, Deadline, ItemChange, ItemDetails, ItemFlags, ItemName, Limits, Module, Prompt,
    Protection,
    SaveRequest, SecretBytes, Sodium, Stack, Status, Store, SyncOutcome, UnixTime
)
typealias TokenKeepNames = (TokenItem, TokenKeepError, TokenStore)
