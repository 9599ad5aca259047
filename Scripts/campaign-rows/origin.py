"""An origin on the loopback interface whose lists are known byte for byte. It counts its requests."""

import json, random, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Asked:
    """One request: when it came, when it was answered, and for which items of which list."""

    def __init__(self, name, offset, limit, target):
        self.name, self.offset, self.limit, self.target = name, offset, limit, target
        self.begun, self.ended = time.monotonic(), None


class Origin:
    """Lists at /NAME with offset, limit and a total. `answer` may take over: it gets the request, and returns None or
    (status, headers, body)."""

    def __init__(self, items=400, pause=0.0):
        self.items, self.pause, self.answer = items, pause, None
        self.asked, self.lock, self.chance = [], threading.Lock(), random.Random(1)
        # While cleared, no request is answered.
        self.open = threading.Event()
        self.open.set()
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body in one write each, without waiting for the other side (RFC 9293, 3.7.4).
            disable_nagle_algorithm = True

            def do_GET(self):
                origin.serve(self)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_):
                pass  # Clients that are killed go away in the middle.

        self.server = Server(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.open.set()
        self.server.shutdown()
        self.server.server_close()

    def url(self, name="list"):
        return f"http://{self.host}/{name}"

    def item(self, name, number):
        # Numbers in unusual notations, text beyond ASCII, and different sizes.
        text = "größer – " + "xyz"[number % 3] * (40 + number * 37 % 200)
        return f'{{"id":"{name}-{number}","n":{number}.50e0,"text":"{text}"}}'.encode()

    def truth(self, name="list"):
        return [self.item(name, number) for number in range(self.items)]

    def body(self, name, offset, limit):
        end = min(offset + limit, self.items)
        parts = b",".join(self.item(name, number) for number in range(offset, end))
        return b'{"total":%d,"items":[%s]}' % (self.items, parts)

    def serve(self, handler):
        url = urlsplit(handler.path)
        words = parse_qs(url.query)
        number = lambda word, other: int(words.get(word, [other])[0])
        asked = Asked(url.path.strip("/"), max(0, number("offset", 0)), min(1_000, max(1, number("limit", 50))), handler.path)
        with self.lock:
            self.asked.append(asked)
            wait = self.chance.uniform(0, 2 * self.pause)
        time.sleep(wait)
        self.open.wait()
        status, headers, body = (self.answer and self.answer(asked, handler)) or (200, {}, None)
        if body is None:
            body = self.body(asked.name, asked.offset, asked.limit)
        asked.ended = time.monotonic()
        try:
            handler.send_response(status)
            for name, value in ({"Content-Type": "application/json", "Content-Length": str(len(body))} | headers).items():
                handler.send_header(name, value)
            handler.end_headers()
            if handler.command != "HEAD":
                handler.wfile.write(body)
        except OSError:
            handler.close_connection = True

    def taken(self):
        """What was asked since the last time."""
        with self.lock:
            asked, self.asked = self.asked, []
            return asked
