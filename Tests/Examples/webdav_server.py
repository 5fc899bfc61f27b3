"""A WebDAV server for ann with one file, which davfs2 can mount. Prints its port. Usage: webdav_server.py PASSWORD"""

import base64
import http.server
import sys

WANTED = "Basic " + base64.b64encode(b"ann:" + sys.argv[1].encode()).decode()
TEXT = b"from the cloud\n"
DATE = "Wed, 25 Nov 2026 08:00:00 GMT"


def entry(path, kind, length):
    return (
        f"<D:response><D:href>{path}</D:href><D:propstat><D:prop>{kind}<D:getcontentlength>{length}</D:getcontentlength>"
        f"<D:getlastmodified>{DATE}</D:getlastmodified></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
    )


FOLDER = entry("/dav/", "<D:resourcetype><D:collection/></D:resourcetype>", 0)
FILE = entry("/dav/file", "<D:resourcetype/>", len(TEXT))


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"DAV": "1", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_request(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_file = self.path == "/dav/file"
        if self.headers.get("Authorization") != WANTED:
            self.answer(401, WWW_Authenticate='Basic realm="test"')
        elif self.command == "OPTIONS":
            self.answer(200, Allow="OPTIONS, PROPFIND, GET, HEAD")
        elif self.command == "PROPFIND":
            inside = FILE if is_file or self.headers.get("Depth") == "1" else ""
            body = f'<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">{"" if is_file else FOLDER}{inside}</D:multistatus>'
            self.answer(207, body.encode(), Content_Type="application/xml")
        else:
            self.answer(200 if is_file else 404, TEXT if is_file else b"", Last_Modified=DATE)

    do_OPTIONS = do_PROPFIND = do_GET = do_HEAD = handle_request

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(server.server_port, flush=True)
server.serve_forever()
