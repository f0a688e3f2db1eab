"""Receives the events of a player: python3 receiver.py SECRET [PORT]"""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from service.client import NotSigned, webhook_event


class Receiver(BaseHTTPRequestHandler):
    """Verifies each request, and answers a ping with its challenge."""

    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers["Content-Length"]), 10_000))
        try:
            event = webhook_event(sys.argv[1], dict(self.headers), body)
        except NotSigned:
            self.send_error(400)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(event.get("challenge", "").encode())
        print(self.headers["webhook-id"], event["type"], event.get("id"), flush=True)


HTTPServer(("127.0.0.1", int([*sys.argv, "9000"][2])), Receiver).serve_forever()
