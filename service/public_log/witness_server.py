"""A witness over HTTP: `POST add-checkpoint` below its prefix, nothing else."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from service.public_log.witness import MAX_REQUEST, Answer, Witness

PATIENCE: Final = 10  # seconds for a request to arrive


def witness_server(witness: Witness, host: str, port: int) -> ThreadingHTTPServer:
    """Return a server for a witness; it listens, and answers once `serve_forever` runs."""

    class Handler(BaseHTTPRequestHandler):
        """Answers for this witness."""

        protocol_version = "HTTP/1.1"
        timeout = PATIENCE

        def do_POST(self) -> None:
            """Answer add-checkpoint."""
            length = self.headers.get("Content-Length", "")
            if not length.isascii() or not length.isdigit() or int(length) > MAX_REQUEST:
                self.close_connection = True
                self._answer(Answer(status=413, body=b"too large, or of unknown length\n"))
                return
            request = self.rfile.read(int(length))
            if self.path != "/add-checkpoint":
                self._answer(Answer(status=404, body=b"POST to /add-checkpoint\n"))
                return
            self._answer(witness.add_checkpoint(request))

        def log_message(self, *_words: object) -> None:
            """Say nothing: the witness itself tells what matters."""

        def _answer(self, answer: Answer) -> None:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.media_type)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    return server
