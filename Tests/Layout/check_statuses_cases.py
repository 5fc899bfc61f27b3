#!/usr/bin/env python3
"""check_statuses.py on a tree of its own: functions that say how they fail, and functions that do not."""
import pathlib
import subprocess
import sys
import tempfile

TYPES = """#define TOKENKEEP_OK 0
#define TOKENKEEP_LOCKED 2
typedef int tokenkeep_status;
"""
HEADER = """/* Has a status. TOKENKEEP_LOCKED: the vault is locked. */
DECLARE good(int a);
DECLARE shares_it(int a,
                  int b);

DECLARE after_a_blank_line(int a);
/* TOKENKEEP_LOCKED. */
DECLARE with_status(int a);
TOKENKEEP_EXPORT int tokenkeep_number(void);
DECLARE after_a_declaration(void);
/* TOKENKEEP_LOCKED. */

DECLARE after_a_comment_apart(void);
/* No status: TOKENKEEP_STATE_LOCKED. */
DECLARE another_constant(void);
/* Statuses as of tokenkeep_good. */
DECLARE as_another(void);
/* Fails only if the vault is locked: TOKENKEEP_LOCKED. */
DECLARE only(void);
""".replace("DECLARE ", "TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_")
SWIFT = """public static let locked = Status(rawValue: 2)
/// - Throws: ``TokenKeepError``, such as `locked`.
public func good() throws { }
/// - Throws: ``TokenKeepError`` if `text` is wrong.
public func wordOfAnotherKind(text: String) throws { }
/// - Throws: as ``good()``.
public func asAnother() throws { }
/// - Throws: as ``quiet(_:)``.
public func asOneThatThrowsNothing() throws { }
/// Has no such sentence.
public func throwsOnALaterLine(
    a: Int, b: Int,
    c: () throws -> Void = { },
    d: Int,
    e: Int,
    f: Int,
    g: Int,
    h: Int,
    i: Int,
    j: Int,
    k: Int,
    l: Int
)
    async
    throws -> Int { a }
/// Calls a closure that throws.
public func quiet(_ body: () throws -> Void) { try? body() }
/// Has no such sentence.
public var property: Int {
    get async throws { 1 }
}
/// - Throws: the error of ``property``.
@available(macOS 1, *)
@discardableResult public static func attributed() throws(TokenKeepError) -> Int { 1 }
/// - Throws: `DecodingError`.
public init() throws { }
/// - Throws: `TokenKeepError`.
public init(_ a: Int) throws { }
/// - Throws only `locked`.
public func only() throws { }
"""
EXPECTED = """include/tokenkeep/store.h: tokenkeep_after_a_blank_line names no status
include/tokenkeep/store.h: tokenkeep_after_a_declaration names no status
include/tokenkeep/store.h: tokenkeep_after_a_comment_apart names no status
include/tokenkeep/store.h: tokenkeep_another_constant names no status
include/tokenkeep/store.h: tokenkeep_only says that it fails only so
Sources/TokenKeep/Store.swift:5: does not say what it throws
Sources/TokenKeep/Store.swift:9: does not say what it throws
Sources/TokenKeep/Store.swift:11: does not say what it throws
Sources/TokenKeep/Store.swift:29: does not say what it throws
Sources/TokenKeep/Store.swift:38: does not say what it throws
Sources/TokenKeep/Store.swift:40: says that it throws only so
"""

with tempfile.TemporaryDirectory() as root:
    for name, text in (("include/tokenkeep/types.h", TYPES), ("include/tokenkeep/store.h", HEADER),
                       ("Sources/TokenKeep/Store.swift", SWIFT)):
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    check = pathlib.Path(__file__).with_name("check_statuses.py")
    printed = subprocess.run([sys.executable, check, root], capture_output=True, text=True, check=False).stderr
if printed != EXPECTED:
    sys.exit(f"FAIL check_statuses.py printed:\n{printed}instead of:\n{EXPECTED}")
