"""A proxy that passes an answer on only when it is complete, as some proxies do: `python -m … HOST:PORT` prints its own port."""

from __future__ import annotations

import http.client
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOP_BY_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length"}


class Buffering(BaseHTTPRequestHandler):
    """Handles one connection."""

    protocol_version = "HTTP/1.1"
    upstream = ""

    def _pass_on(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        connection = http.client.HTTPConnection(self.upstream, timeout=600)
        try:
            connection.request(self.command, self.path, self.rfile.read(length) if length else None, dict(self.headers))
            answer = connection.getresponse()
            body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True
        finally:
            connection.close()

    do_GET = do_POST = do_PUT = do_DELETE = _pass_on

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


def main() -> None:
    """Serve until the process is ended."""
    Buffering.upstream = sys.argv[1]
    with ThreadingHTTPServer(("127.0.0.1", 0), Buffering) as server:
        server.daemon_threads = True
        print(server.server_address[1], flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
