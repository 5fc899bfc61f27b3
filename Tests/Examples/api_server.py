"""An API that takes the second token alone and limits its guests. Prints its port."""
import http.server

class API(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, status, body):
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "7200")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        if "X-Device-ID" in self.headers:
            return self.answer(429, b"")
        fresh = self.headers["Authorization"] == "Bearer second"
        self.answer(200 if fresh else 401, b'{"name":"Ann"}' if fresh else b"")
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200, b'{"access_token":"second","refresh_token":"r2","expires_in":3600}')
    def log_message(self, *arguments): pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), API)
print(server.server_port, flush=True)
server.serve_forever()
