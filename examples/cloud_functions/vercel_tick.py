"""Vercel: copy to `api/tick.py`; a cron job of `vercel.json` calls it with GET.

    {"crons": [{"path": "/api/tick", "schedule": "* * * * *"}], "functions": {"api/tick.py": {"maxDuration": 60}}}

Set CRON_SECRET, which Vercel sends as a bearer token, FANFOLD_DATABASE (PostgreSQL) and FANFOLD_FILES (a bucket).
"""

import hmac
import json
import os
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler

import fanfold as ff


class handler(BaseHTTPRequestHandler):
    """The class that Vercel looks for."""

    def do_GET(self) -> None:
        """One tick, for callers that know the secret."""
        secret = os.environ.get("CRON_SECRET", "")
        given = self.headers.get("authorization", "")
        if not secret or not hmac.compare_digest(given.encode(), f"Bearer {secret}".encode()):
            self._answer(401, {"error": "the bearer token is not CRON_SECRET"})
        else:
            self._answer(200, asdict(ff.tick(seconds=45.0)))

    def _answer(self, status: int, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
