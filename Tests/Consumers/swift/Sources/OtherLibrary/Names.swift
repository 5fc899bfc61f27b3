// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// A library beside TokenKeep, with the names of types inside TokenKeep: an application uses them without qualification.

public enum AccessLevel {}
public enum Status {}
public enum Cancellation {}
public enum Deadline {}
public enum ItemChange {}
public enum ItemDetails {}
public enum ItemFlags {}
public enum ItemName {}
public enum Limits {}
public enum Module {}
public enum Prompt {}
public enum Protection {}
public enum SecretBytes {}
public enum Sodium {}
public enum Stack {}
public enum Store {}
public enum SyncOutcome {}
public enum UnixTime {}
