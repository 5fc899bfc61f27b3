#!/usr/bin/env python3
"""Fails if a module brings other names than it should, or a public declaration has no docstring.

Usage: check_swift_api.py MODULE.symbols.json…      (swift package dump-symbol-graph)
"""
import json
import sys

NAMES = {
    "TokenKeep": {"TokenItem", "TokenKeepError", "TokenSession", "TokenSessions", "TokenStore"},
    "TokenKeepFoundation": {
        "APIError", "AnySessionContainer", "ErrorDetail", "ErrorResponse", "GuestLimitations", "GuestResponse",
        "LogoutCleanup", "LogoutError", "MemorySessionContainer", "OAuthToken", "Observed", "ObservedSession", "OfflineQueue",
        "OSStatus", "RateLimit", "Refreshable", "RefreshableToken", "Session", "SessionClient", "SessionContainer",
        "SessionEvent", "SessionManager", "SessionManagerOptions", "SignIn", "StoreSessionContainer",
        "TokenEndpoints", "TokenManager", "UnavailableReason", "UnverifiedClaims", "UserSession",
    },
}


def is_own(name):
    """Whether a name is not one of the Keychain's numbers."""
    return not name.startswith("errSec")


def faults(path):
    with open(path, encoding="utf-8") as file:
        graph = json.load(file)
    module, symbols = graph["module"]["name"], graph["symbols"]
    expected = NAMES[module]
    yield from (
        f"{module}: {'.'.join(symbol['pathComponents'])} has no docstring"
        for symbol in symbols
        if "docComment" not in symbol
    )
    names = set(filter(is_own, (symbol["pathComponents"][0] for symbol in symbols)))
    if names != expected:
        yield (
            f"import {module} brings {', '.join(sorted(names - expected)) or 'no other name'} besides, and lacks "
            f"{', '.join(sorted(expected - names)) or 'none'}"
        )


def main():
    found = [fault for path in sys.argv[1:] for fault in faults(path)]
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found or len(sys.argv) < 2 else 0


sys.exit(main())
