#!/usr/bin/env python3
"""A pinentry that does what FAKE_PINENTRY names, and notes in FAKE_PINENTRY_LOG each line that it reads."""

import os
import sys
import time

mode, _, answers = os.environ["FAKE_PINENTRY"].partition(":")
answers = answers.split(",")


def log(text):
    with open(os.environ["FAKE_PINENTRY_LOG"], "a", encoding="utf-8") as file:
        file.write(text + "\n")


def say(text):
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.buffer.flush()


def flood(text):
    while True:
        say(text)


log(f"start {os.getpid()}")
if mode == "dead":
    sys.exit(0)
if mode == "mute":
    time.sleep(3600)
say({"rude": "ERR 1 no", "garbage": "SSH-2.0", "long": "OK " + "x" * 5000}.get(mode, "OK Pleased to meet you"))
for line in sys.stdin:
    log(line.rstrip("\n"))
    command = line.split()[0]
    if mode == "early":
        say("D s3cret")
    if mode == "strict" and command in ("OPTION", "SETTIMEOUT", "SETTITLE", "SETREPEAT", "SETERROR"):
        say("ERR 536871187 Unknown IPC command")
        continue
    if command != "GETPIN":
        say("OK")
        if command == "BYE" and mode != "stays":
            sys.exit(0)
        continue
    # A new process for each prompt: the count of its predecessors chooses the answer.
    with open(os.environ["FAKE_PINENTRY_LOG"], encoding="utf-8") as file:
        answer = answers[min(file.read().count("GETPIN"), len(answers)) - 1]
    if mode == "cancel":
        say("ERR 83886179 Operation cancelled <Pinentry>")
    elif mode == "hang":
        time.sleep(3600)
    elif mode == "killed":
        os.kill(os.getpid(), 9)
    elif mode == "escape":
        say("D abc%4")
    elif mode == "flood":
        flood("S KEEPALIVE")
    elif mode == "endless":
        flood("D " + "a" * 900)
    elif mode == "asks":
        say("INQUIRE QUALITY abc")
        log("reply " + sys.stdin.readline().strip())
        say("# a comment")
        say("D " + answer)
        say("OK")
    else:
        if mode == "repeats":
            say("S PIN_REPEATED")
        for part in (answer[:2], answer[2:]) if "%" not in answer[:4] else (answer,):
            say("D " + part)
        say("OK")
