"""Takes the place of java: an emulator that answers, crashes, or cannot have its port.

``PRETEND`` says which: the part of a command line it concerns, then what to do and say.
"""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer


class Ok(BaseHTTPRequestHandler):
    """Answers as the emulators do."""

    def do_GET(self) -> None:
        """Say that it is there."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Ok\n")


def main() -> None:
    """Behave."""
    words = " ".join(sys.argv[1:])
    sys.stderr.write(f"process {os.getpid()}\n")
    sys.stderr.flush()
    for part, what, text in json.loads(os.environ.get("PRETEND", "[]")):
        if part in words:
            sys.stderr.write(text)
            sys.stderr.flush()
            if what == "crash":
                sys.exit(1)
            while what == "deaf":
                time.sleep(1)
    port = next(word for word in sys.argv if word.startswith("--port=")).removeprefix("--port=")
    HTTPServer(("127.0.0.1", int(port)), Ok).serve_forever()


main()
