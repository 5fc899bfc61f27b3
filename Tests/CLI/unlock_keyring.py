"""Unlocks the gnome-keyring whose runtime directory is KEYRING as its PAM module does, without a prompter. Usage: unlock_keyring.py PASSWORD"""
import os
import socket
import struct
import sys

UNLOCK, DONE = 1, 0

with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
    control.connect(os.environ["KEYRING"] + "/keyring/control")
    control.sendall(b"\0")  # takes the caller's credentials along
    password = sys.argv[1].encode()
    control.sendall(struct.pack(">III", 12 + len(password), UNLOCK, len(password)) + password)
    answer = control.recv(8, socket.MSG_WAITALL)
assert answer == struct.pack(">II", 8, DONE), answer
