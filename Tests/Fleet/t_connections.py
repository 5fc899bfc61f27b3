"""Connections and tokens that end: dead connections, slow servers, members that start anew, certificates that are over."""
import json
import os
import socket
import subprocess
import threading

from fleet_parts import STACK, Tunnel, wait_until
from t_sign_out import three
from t_users import ROOT, company, users


def test_a_kept_connection_that_hangs_is_replaced(place, server):
    etcd, (desk, _, _), _ = three(place, server)
    tunnel = Tunnel(etcd.port, silent_after=1)
    desk.use(f"http://127.0.0.1:{tunnel.port}")
    shown = json.loads(desk.fleet("status", "--json").stdout)
    assert len(shown["devices"]) == 3 and shown["version"], shown
    assert tunnel.count == 2, f"{tunnel.count} connections"
    tunnel.close()


def test_an_endpoint_that_cannot_be_reached_is_tried_once(place, server):
    etcd, (desk, _, _), _ = three(place, server)
    # The system drops attempts to connect while its queue for the port is full.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as hole:
        port = hole.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        desk.use(f"http://127.0.0.1:{port}", etcd.url)
        trace = f"{place.directory}/trace"
        subprocess.run(
            ["strace", "-f", "-e", "trace=connect", "-o", trace, desk.program, "fleet", "list", *STACK],
            env=desk.environment, check=True, capture_output=True)
        for one in waiting:
            one.close()
    with open(trace, encoding="utf-8") as file:
        tried = file.read().count(f"htons({port})")
    assert tried == 1, f"{tried} connections"


def test_a_runner_notices_that_its_connections_are_dead(place, server):
    authority = place.authority()
    etcd = place.etcd(authority=authority)
    desk, laptop = place.device("desk", server), place.device("laptop", server)
    desk.init(etcd)
    laptop.join(desk)
    laptop.sign_in(server)
    tunnel = Tunnel(etcd.port)
    laptop.use(f"https://127.0.0.1:{tunnel.port}")
    laptop.start()
    wait_until(lambda: ("laptop", "api.example.com", "ann") in desk.sessions(), "the publication")
    wait_until(lambda: tunnel.count >= 2, "the watch")
    tunnel.fall_silent()
    # Sooner than the next poll, which is after 240 s.
    desk.fleet("sign-out", "api.example.com", "ann", "--device", "laptop", "--wait", "200s")
    assert laptop.state() == ("signed-out", "remote")
    tunnel.close()


def test_an_answer_that_trickles_ends_by_the_deadline(place, server):
    _, (desk, _, _), _ = three(place, server)
    over = threading.Event()

    def trickle(listener):
        client, _ = listener.accept()
        with client:
            client.recv(65536)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
            while not over.wait(0.5):
                try:
                    client.sendall(b" ")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=trickle, args=(listener,), daemon=True).start()
        desk.use(f"http://127.0.0.1:{listener.getsockname()[1]}")
        assert "did not answer in time" in desk.fleet("list", check=4).stderr
        over.set()


def test_a_runner_authenticates_again_after_its_token_has_ended(place, server):
    etcd, admin, laptop = company(place, server)
    laptop.sign_in(server)
    laptop.start()
    wait_until(lambda: users(admin)["ann"]["sessions"] == 1, "the publication")
    etcd.restart()
    admin.fleet("admin", "sign-out", "ann", "--account", "ann", given=ROOT)
    wait_until(lambda: laptop.state() == ("signed-out", "remote"), "the sign-out")
    wait_until(lambda: users(admin)["ann"]["sessions"] == 0, "the removal")
    assert "refuses" not in laptop.said() and "wants a user" not in laptop.said(), laptop.said()


def test_a_client_certificate_that_is_over_is_named(place, server):
    authority = place.authority()
    etcd = place.etcd(authority=authority, wants_certificate=True)
    desk = place.device("desk", server)
    good = authority.sign("device", "/O=fleet/OU=desk")
    begin = ["init", "home", "--endpoint", etcd.url, "--ca", authority.file, "--name", "desk"]
    desk.fleet(*begin, "--cert", good[0], "--key", good[1])
    over = authority.sign("over", "/O=fleet/OU=desk", days="-1")
    path = f"{desk.home}/config/tokenkeep/fleet.d/home.conf"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(good[0], over[0]).replace(good[1], over[1]))
    refused = desk.fleet("list", check=5).stderr
    assert f"this device's certificate has ended: {over[0]}" in refused, refused
    # A member that is down is away, whatever the certificate is.
    etcd.kill()
    away = desk.fleet("list", check=4).stderr
    assert "the registry may be down; this device's certificate has ended, too" in away, away
    etcd.start()
    # Certificates are often links.
    link = f"{place.directory}/link.pem"
    os.symlink(over[0], link)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(good[0], link).replace(good[1], over[1]))
    assert f"this device's certificate has ended: {link}" in desk.fleet("list", check=5).stderr
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    desk.fleet("list")
