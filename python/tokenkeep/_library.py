# SPDX-License-Identifier: Apache-2.0
"""The C library: its structures, the types of its functions, and calls of them.

ctypes releases the GIL during each call.
"""
from __future__ import annotations

import ctypes
import threading
from ctypes import CFUNCTYPE, POINTER, byref, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Optional

from . import _errors

NAME = "libtokenkeep.so.0"
OK = 0


class Attribute(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class PromptStructure(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("kind", c_uint32), ("attempt", c_uint32), ("message", c_char_p),
                ("service", c_char_p), ("account", c_char_p)]


# The answer is a buffer of the library: a c_char_p would be copied up to a NUL.
PromptFunction = CFUNCTYPE(c_int32, c_void_p, POINTER(PromptStructure), c_void_p, c_size_t, POINTER(c_size_t))
HTTPFunction = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p)
EndFunction = CFUNCTYPE(c_int32, c_void_p, c_char_p, c_char_p, c_uint32)
LoginFunction = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_size_t, POINTER(c_size_t))


class OpenOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("stack", c_char_p), ("stack_text", c_char_p), ("name_space", c_char_p),
                ("timeout_ms", c_uint32), ("flags", c_uint32), ("prompt", PromptFunction), ("prompt_data", c_void_p)]


class SaveOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("accessibility", c_uint32), ("flags", c_uint32), ("label", c_char_p),
                ("expires_at", c_int64), ("expected_version", c_uint64), ("attributes", POINTER(Attribute)),
                ("attribute_count", c_size_t), ("saved_version", POINTER(c_uint64))]


class SessionOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("provider", c_char_p), ("refresh_url", c_char_p), ("client_id", c_char_p),
                ("rotation", c_uint32), ("overlap_s", c_uint32), ("accessibility", c_uint32),
                ("refresh_accessibility", c_uint32), ("timeout_ms", c_uint32), ("flags", c_uint32),
                ("http", HTTPFunction), ("http_data", c_void_p)]


class LoginOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("provider", c_char_p), ("scope", c_char_p), ("resource", c_char_p),
                ("audience", c_char_p), ("flow", c_uint32), ("timeout_ms", c_uint32), ("show", LoginFunction),
                ("data", c_void_p), ("flags", c_uint32)]


P, TEXT, SIZE, OUT = c_void_p, c_char_p, c_size_t, POINTER(c_void_p)
SIZE_OUT = POINTER(c_size_t)

# Functions whose result is a status; each takes a tokenkeep_error ** more, as its last argument.
CALLS = {
    "open": [POINTER(OpenOptions), OUT], "save": [P, TEXT, TEXT, P, SIZE, POINTER(SaveOptions)],
    "load": [P, TEXT, TEXT, OUT], "clear": [P, TEXT, TEXT], "clear_if": [P, TEXT, TEXT, c_uint64],
    "clear_service": [P, TEXT, SIZE_OUT], "list": [P, TEXT, OUT], "sync": [P, SIZE_OUT, SIZE_OUT], "ready": [P, c_uint32],
    "unlock": [P, P, SIZE], "lock": [P], "protection_for": [P, c_uint32, c_uint32, OUT],
    "watch_open": [P, TEXT, OUT], "watch_next": [P, OUT], "device_id": [P, POINTER(c_char * 37)],
    "jwt_claim_unverified": [TEXT, SIZE, TEXT, P, SIZE, SIZE_OUT],
    "session_open": [P, TEXT, TEXT, POINTER(SessionOptions), OUT], "session_begin": [P, c_uint32, P, SIZE],
    "session_hydrate": [P, TEXT, TEXT, c_int64], "session_token": [P, c_uint32, OUT], "session_refresh": [P, OUT],
    "session_rejected": [P, P, OUT], "session_token_for": [P, TEXT, TEXT, c_uint32, OUT], "session_validate": [P],
    "session_extend": [P, c_uint32], "session_profile": [P, OUT], "session_set_profile": [P, P, SIZE],
    "session_state": [P, OUT], "session_next": [P, OUT], "session_step": [P, POINTER(c_uint32)],
    "session_list": [P, TEXT, OUT], "session_switch": [P, TEXT, TEXT], "session_end": [P, c_uint32, OUT],
    "session_flush": [P, SIZE_OUT, SIZE_OUT], "session_on_end": [P, TEXT, c_uint32, EndFunction, P],
    "login": [P, TEXT, TEXT, POINTER(LoginOptions), OUT],
}

# All other functions: the result and the arguments.
GETTERS = {
    **{name: (None, [P]) for name in (
        "close", "cancel", "item_free", "items_free", "error_free", "watch_close", "event_free", "protection_free",
        "session_close", "token_free", "session_info_free", "session_infos_free", "session_report_free")},
    **{name: (TEXT, [P]) for name in (
        "item_namespace", "item_service", "item_account", "item_label", "item_module", "error_message", "error_module",
        "event_namespace", "event_service", "event_account", "token_type", "token_scope", "session_info_service",
        "session_info_account", "session_info_provider", "session_info_scope", "http_request_service",
        "http_request_account", "http_request_method", "http_request_url", "login_step_url", "login_step_user_code")},
    **{name: (c_uint32, [P]) for name in (
        "item_accessibility", "item_flags", "event_kind", "session_info_state", "session_info_reason",
        "http_request_purpose", "login_step_kind")},
    **{name: (c_int64, [P]) for name in (
        "item_created_at", "item_modified_at", "item_expires_at", "token_expires_in", "session_info_expires_at",
        "session_info_validated_at", "session_info_cool_down_until")},
    **{name: (c_uint64, [P]) for name in ("item_version", "token_generation", "session_info_generation")},
    **{name: (c_int, [P]) for name in (
        "watch_fd", "session_fd", "token_is_short", "session_info_is_active", "session_info_can_renew")},
    **{name: (SIZE, [P]) for name in (
        "items_count", "item_attribute_count", "session_infos_count", "session_report_count", "http_request_header_count")},
    **{name: (P, [P, SIZE_OUT]) for name in (
        "item_secret", "token_value", "http_request_body", "http_request_token")},
    **{name: (P, [P, SIZE]) for name in ("items_at", "session_infos_at")},
    **{name: (P, [P]) for name in ("items_problem", "session_infos_problem")},
    **{name: (c_int, [P, SIZE, POINTER(TEXT), POINTER(TEXT)]) for name in ("item_attribute_at", "http_request_header_at")},
    "error_status": (c_int32, [P]), "version": (TEXT, []), "protection_axis": (c_uint32, [P, c_uint32]),
    "protection_mechanism": (TEXT, [P, c_uint32]), "session_report_name": (TEXT, [P, SIZE]),
    "session_report_result": (c_uint32, [P, SIZE]), "http_response_status": (None, [P, c_uint32]),
    "http_response_header": (None, [P, TEXT, TEXT]), "http_response_append": (None, [P, P, SIZE]),
}

_loaded: Any = None
# The exception that a callback raised, until the call on the same thread that ran the callback has returned.
raised = threading.local()


def library() -> Any:
    """The library with the types of its functions. Raises ImportError if the library cannot be loaded."""
    global _loaded
    if _loaded is None:
        try:
            found = ctypes.CDLL(NAME)
        except OSError as error:
            raise ImportError(f"TokenKeep's library is missing ({error}): install TokenKeep") from None
        try:
            for name, arguments in CALLS.items():
                function = getattr(found, f"tokenkeep_{name}")
                function.restype, function.argtypes = c_int32, [*arguments, OUT]
            for name, (result, arguments) in GETTERS.items():
                function = getattr(found, f"tokenkeep_{name}")
                function.restype, function.argtypes = result, arguments
        except AttributeError as error:
            raise ImportError(f"TokenKeep's library is older than this package ({error}): install a newer TokenKeep") from None
        _loaded = found
    return _loaded


def get(name: str, *arguments: Any) -> Any:
    """Calls a function that has no error."""
    return getattr(library(), f"tokenkeep_{name}")(*arguments)


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status. Raises the exception of the status, or that of a callback."""
    raised.exception = None
    error = c_void_p()
    status = getattr(library(), f"tokenkeep_{name}")(*arguments, byref(error))
    exception, raised.exception = raised.exception, None
    failure = take_error(status, error) if status != OK else None
    # A call may succeed without the callback: only an interrupt counts then.
    if exception is not None and (failure is not None or not isinstance(exception, Exception)):
        raise exception from failure
    if failure is not None:
        raise failure


def take_error(status: int, error: c_void_p) -> _errors.Error:
    """The exception of a status and an error object, which is freed."""
    try:
        return error_of(status, error)
    finally:
        get("error_free", error)


def error_of(status: int, error: Any) -> _errors.Error:
    """The exception of a status and an error object, which the library keeps."""
    return _errors.make(status, text(get("error_message", error)) or "", text(get("error_module", error)))


def text(value: Optional[bytes]) -> Optional[str]:
    """A text of the library, whose texts are UTF-8."""
    return None if value is None else value.decode("utf-8")


def name_bytes(value: str, what: str) -> bytes:
    """A text for the library, which would end the text at a NUL without saying so."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be str, not {type(value).__name__}")
    try:
        encoded = value.encode("utf-8")
    except UnicodeEncodeError:
        raise _errors.Invalid(f"{what} is not Unicode text: it has a lone surrogate") from None
    if b"\0" in encoded:
        raise _errors.Invalid(f"{what} has a NUL")
    return encoded


def optional_bytes(value: Optional[str], what: str) -> Optional[bytes]:
    return None if value is None else name_bytes(value, what)


def in_range(value: int, low: int, high: int, what: str) -> int:
    """An integer within limits: ctypes would cut off higher bits without saying so."""
    if not low <= value <= high:
        raise _errors.Invalid(f"{what} must be from {low} to {high}")
    return value


def milliseconds(seconds: Optional[float], what: str = "timeout") -> int:
    """A time in seconds as the milliseconds of an option; 0, the library's default, for None."""
    if seconds is None:
        return 0
    if not 0 < seconds <= 4294967:
        raise _errors.Invalid(f"{what} must be more than 0 and at most 4294967 seconds")
    return max(1, round(seconds * 1000))


def buffer(secret: Any) -> Any:
    """The bytes of a secret, without a copy where the object lends its memory, and their number."""
    if isinstance(secret, str):
        try:
            secret = secret.encode("utf-8")
        except UnicodeEncodeError:
            raise _errors.Invalid("the secret is not Unicode text: it has a lone surrogate") from None
    if isinstance(secret, bytes):
        return secret, len(secret)
    view = memoryview(secret)
    if view.readonly or not view.c_contiguous or view.nbytes == 0:
        return view.tobytes(), view.nbytes
    return (c_char * view.nbytes).from_buffer(view.cast("B")), view.nbytes


def copied(name: str, pointer: Any) -> Optional[bytes]:
    """A copy of the bytes that a getter with a length returns; None for NULL."""
    length = c_size_t()
    address = get(name, pointer, byref(length))
    return None if address is None else ctypes.string_at(address, length.value)
