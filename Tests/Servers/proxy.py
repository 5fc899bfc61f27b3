#!/usr/bin/env python3
"""A proxy for tests: it connects a client to the server that CONNECT names, and writes each request down.

Usage: proxy.py DIRECTORY

Prints its port and serves until it is killed. The first line of each request goes to DIRECTORY/proxied. While
DIRECTORY/refuses exists, each request is answered with 403.
"""
import os
import socket
import sys
import threading

DIRECTORY = sys.argv[1]


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(client):
    with client:
        head = b""
        while b"\r\n\r\n" not in head:
            part = client.recv(65536)
            if not part:
                return
            head += part
        line = head.split(b"\r\n")[0].decode("latin-1")
        with open(os.path.join(DIRECTORY, "proxied"), "a", encoding="utf-8") as file:
            file.write(line + "\n")
        method, place, _ = line.split(" ")
        if method != "CONNECT" or os.path.exists(os.path.join(DIRECTORY, "refuses")):
            client.sendall(b"HTTP/1.1 403 Refused\r\nContent-Length: 0\r\n\r\n")
            return
        host, port = place.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as server:
            client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            threading.Thread(target=copy, args=(client, server), daemon=True).start()
            copy(server, client)


def main():
    open(os.path.join(DIRECTORY, "proxied"), "w", encoding="utf-8").close()
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()


if __name__ == "__main__":
    main()
