import OtherLibrary
import TokenKeep

/// A type of the application's own, with the name of a type inside TokenKeep.
struct SaveRequest {}

/// None of these names is ambiguous, although both libraries are imported.
let names: [Any.Type] = [
    AccessLevel.self, Cancellation.self, Deadline.self, ItemChange.self, ItemDetails.self, ItemFlags.self,
    ItemName.self,
    Limits.self, Module.self, Prompt.self, Protection.self, SaveRequest.self, SecretBytes.self, Sodium.self, Stack.self,
    Status.self, Store.self, SyncOutcome.self, UnixTime.self,
]
let tokenKeepNames: [Any.Type] = [
    TokenItem.self, TokenItem.Accessibility.self, TokenKeepError.self, TokenKeepError.Status.self, TokenStore.self,
]
