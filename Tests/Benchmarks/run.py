#!/usr/bin/python3
"""Figures beside those of peers, from one run: the instructions of a load and of a save, the vault's beside the disk's floor and libsecret's file backend, what a
password, a watch, many accounts and a change of all keys cost, the Secret Service's beside libsecret's own API, the sessions' beside
what programs write for themselves, refreshes beside scripts with curl, requests beside URLSession's,
credential helpers beside git-credential-libsecret and docker-credential-secretservice, and sealing with the TPM beside tpm2-tools
and clevis. Nothing is asserted.

Usage: run.py PREFIX [--short] [--plot FILE] [NAME...]
PREFIX: where the package was installed. NAME: session for session_figures.
--short takes minutes: the tables of SHORT_TABLES alone. --plot draws loads and saves (plot.py) if vault and service are measured.
"""
import shutil
import sys

import account_figures
import device_figures
import drain_figures
import era_figures
import instruction_figures
import module_figures
import password_figures
import plot
import provider_figures
import refresh_figures
import requests_figures
import service_figures
import session_figures
import tool_figures
import tpm_figures
import vault_figures
import watch_figures
from harness import SHORT, WORK

SHORT_TABLES = [instruction_figures, vault_figures, password_figures, service_figures, module_figures, tool_figures, provider_figures]
TABLES = [
    instruction_figures, vault_figures, watch_figures, password_figures, era_figures, service_figures, drain_figures,
    module_figures, tool_figures, provider_figures, session_figures, account_figures, refresh_figures, requests_figures, tpm_figures,
    device_figures]
words = [word for word in sys.argv[2:] if word != "--short"]
picture = None
if "--plot" in words:
    place = words.index("--plot")
    picture = words[place + 1]
    del words[place:place + 2]
names = words

try:
    for figures in SHORT_TABLES if SHORT else TABLES:
        if not names or figures.__name__.removesuffix("_figures") in names:
            figures.measure()
    if picture:
        plot.write(picture)
finally:
    shutil.rmtree(WORK, ignore_errors=True)
