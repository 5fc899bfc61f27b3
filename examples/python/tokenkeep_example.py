#!/usr/bin/env python3
"""Saves, loads and clears a token from Python, through the C API by ctypes."""
import ctypes
from ctypes import POINTER, byref, c_char_p, c_int32, c_size_t, c_void_p

library = ctypes.CDLL("libtokenkeep.so.0")


def declare(name, result, *arguments):
    """Without its types, ctypes would cut every pointer to 32 bits."""
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


tokenkeep_open = declare("tokenkeep_open", c_int32, c_void_p, POINTER(c_void_p), POINTER(c_void_p))
tokenkeep_close = declare("tokenkeep_close", None, c_void_p)
tokenkeep_save = declare("tokenkeep_save", c_int32, c_void_p, c_char_p, c_char_p, c_char_p, c_size_t, c_void_p,
                         POINTER(c_void_p))
tokenkeep_load = declare("tokenkeep_load", c_int32, c_void_p, c_char_p, c_char_p, POINTER(c_void_p),
                         POINTER(c_void_p))
tokenkeep_clear = declare("tokenkeep_clear", c_int32, c_void_p, c_char_p, c_char_p, POINTER(c_void_p))
tokenkeep_item_secret = declare("tokenkeep_item_secret", c_void_p, c_void_p, POINTER(c_size_t))
tokenkeep_item_free = declare("tokenkeep_item_free", None, c_void_p)
tokenkeep_error_message = declare("tokenkeep_error_message", c_char_p, c_void_p)
tokenkeep_error_free = declare("tokenkeep_error_free", None, c_void_p)
tokenkeep_status_name = declare("tokenkeep_status_name", c_char_p, c_int32)


class TokenKeepError(Exception):
    """A call that failed: the name of its status ("NOT_FOUND") and what happened."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def call(function, *arguments):
    """Calls a function whose last argument is the error, and raises what it answers."""
    error = c_void_p()
    status = function(*arguments, byref(error))
    if status != 0:
        message = tokenkeep_error_message(error).decode()
        tokenkeep_error_free(error)
        raise TokenKeepError(tokenkeep_status_name(status).decode(), message)


class Store:
    """The default store. Use it in a `with` statement."""

    def __init__(self):
        self.handle = c_void_p()
        call(tokenkeep_open, None, byref(self.handle))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        tokenkeep_close(self.handle)
        self.handle = None

    def save(self, service, account, secret):
        call(tokenkeep_save, self.handle, service.encode(), account.encode(), secret, len(secret), None)

    def load(self, service, account):
        """The secret as bytes. Python's copy is not wiped."""
        item, length = c_void_p(), c_size_t()
        call(tokenkeep_load, self.handle, service.encode(), account.encode(), byref(item))
        secret = ctypes.string_at(tokenkeep_item_secret(item, byref(length)), length.value)
        tokenkeep_item_free(item)
        return secret

    def clear(self, service, account):
        call(tokenkeep_clear, self.handle, service.encode(), account.encode())


with Store() as store:
    store.save("example.com", "alice", b"an access token")
    print("loaded:", store.load("example.com", "alice").decode())
    store.clear("example.com", "alice")
    print("cleared")
    for service in ["example.com", "two\nlines"]:
        try:
            store.load(service, "alice")
        except TokenKeepError as error:
            print(f"{error.status}: {error}")
