# SPDX-License-Identifier: Apache-2.0
"""Functions without a store."""
from __future__ import annotations

from ctypes import byref, c_size_t, create_string_buffer

from . import _library

CLAIM = 65536


def library_version() -> str:
    """The version of the loaded library, such as "0.1.0"."""
    return str(_library.get("version").decode())


def jwt_claim_unverified(jwt: str, name: str) -> str:
    """A claim of a JSON Web Token, a text or a whole number. The signature is NOT verified.

    `Unsupported`: the token is opaque. `NotFound`: the token has no such claim.
    """
    token, length = _library.name_bytes(jwt, "jwt"), c_size_t()
    value = create_string_buffer(CLAIM)
    _library.call("jwt_claim_unverified", token, len(token), _library.name_bytes(name, "name"), value, CLAIM, byref(length))
    return value.raw[:length.value].decode("utf-8")
