#!/usr/bin/python3
"""Figures beside those of peers, from one run: the vault's beside the disk's floor and libsecret's file backend, what a
password, a watch and a change of all keys cost, the Secret Service's beside libsecret's own API. Nothing is asserted.

Usage: run.py PREFIX      (the prefix into which the package was installed)
"""
import shutil

import era_figures
import module_figures
import password_figures
import service_figures
import vault_figures
import watch_figures
from harness import WORK

try:
    vault_figures.measure()
    watch_figures.measure()
    password_figures.measure()
    era_figures.measure()
    service_figures.measure()
    module_figures.measure()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
