"""A WebSocket that ends tokens: it refuses the first one, closes the connection of the second with 4401, loses a connection of
the third, and takes the third again. Prints its port."""
import base64
import hashlib
import http.server
import struct
import urllib.parse

# RFC 6455 section 1.3.
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, CLOSE, PING = 1, 8, 9
LOST = []

class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def upgrade(self):
        key = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + GUID).encode()).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(key).decode())
        self.end_headers()
        self.close_connection = True
    def frame(self, kind, data):
        self.wfile.write(bytes([0x80 | kind, len(data)]) + data)
    def do_GET(self):
        token = self.headers["Authorization"].removeprefix("Bearer ")
        if token == "old":
            return self.answer(401)
        self.upgrade()
        if token == "second" and not LOST:
            LOST.append(token)
            self.frame(TEXT, b"news for second")
            self.frame(PING, b"")
            return self.rfile.read(1) # the client has read the text
        if token == "second":
            self.frame(TEXT, b"that is all")
        else:
            self.frame(TEXT, b"news for first")
            self.frame(CLOSE, struct.pack(">H", 4401) + b"the token is over")
        self.rfile.read() # until the client is gone
    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        number, token = {"r0": (1, "first"), "r1": (2, "second")}[form["refresh_token"]]
        self.answer(200, b'{"access_token":"%s","refresh_token":"r%d","expires_in":3600}' % (token.encode(), number))
    def log_message(self, *arguments): pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(server.server_port, flush=True)
server.serve_forever()
