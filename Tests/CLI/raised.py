"""Runs a program with raised privileges: for the user 65534, as root. Usage: raised.py PROGRAM [ARGUMENT...]"""
import os, sys
os.setresuid(65534, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
