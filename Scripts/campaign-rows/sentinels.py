"""Secrets wherever a caller can put one and an origin can echo one; searched for in everything that is left (R45, R46)."""

import base64, signal, urllib.parse
from bench import Outcome, end
from origin import Origin

USER, PASSWORD, QUERY, HEADER, BEARER, COOKIE = (
    f"S3NT1NEL-{word}-0123456789" for word in ["user", "password", "query", "header", "bearer", "cookie"]
)
GIVEN = [USER, PASSWORD, QUERY, HEADER, BEARER, COOKIE]


def spellings():
    """Each secret as it is, as it is sent, and in other encodings."""
    found = set()
    for word in [*GIVEN, f"{USER}:{PASSWORD}", f"Bearer {BEARER}"]:
        bytes = word.encode()
        found |= {
            bytes,
            base64.b64encode(bytes),
            base64.urlsafe_b64encode(bytes),
            bytes.hex().encode(),
            bytes[::-1],
            urllib.parse.quote(word, safe="").replace("-", "%2D").encode(),
            word.encode("utf-16-le"),
            bytes.lower(),
            bytes.upper(),
        }
    return found


def echo(asked, handler):
    """Says again everything it was sent: in headers, cookies, errors, next links, and beside the items."""
    said = " ".join(handler.headers.values()) + " " + handler.path
    headers = {"Set-Cookie": f"sid={COOKIE}; path=/", "X-Echo": said.encode("ascii", "replace").decode()}
    page = asked.offset // max(1, asked.limit)
    if asked.name == "redirect":
        return 302, headers | {"Location": f"http://localhost:1/away?{handler.path}"}, b""
    if asked.name == "broken" or asked.name == "half" and page == 2:
        return 500, headers | {"Retry-After": "0"}, said.encode()
    if asked.name == "refused":
        return 403, headers, said.encode()
    if asked.name == "text":
        return 200, headers | {"Content-Type": "text/html"}, b"<html>" + said.encode()
    return None if asked.name != "next" else (200, headers, None)


def secrets(bench, broken):
    outcome, chance = Outcome(), spellings()

    def search(words, text):
        outcome.cases += 1
        hit = next((word for word in chance if word in text), None)
        outcome.expect(hit is None, f"{words}: {hit}")

    with Origin(items=120) as origin:
        origin.answer = echo
        secret = {"BEARER": BEARER, "HEADER": HEADER, "COOKIE": f"sid={COOKIE}"}
        for name in ["list", "next", "half", "broken", "refused", "text", "redirect"]:
            place = bench.place()
            if broken:
                # The control writes the sent bytes to a file beside the store.
                place.control = {"SHIM_TAPPED": f"{place.folder}/tapped"}
            url = f"http://{USER}:{PASSWORD}@{origin.host}/{name}?api_key={QUERY}&sort=up"
            fields = ["--bearer-env", "BEARER"] if name == "next" else []
            fields += ["--header-env", "X-Api-Key=HEADER", "--header-env", "Cookie=COOKIE"]
            watch = None
            if name == "half":
                place.run("sync", f"http://{origin.host}/other", "--quiet")
                watch = place.start("watch", "--format", "ndjson")
            for flags in [["--verbose"], ["--json", "--verbose"], ["--explain"], ["--sweep", "--verbose"]]:
                ended = place.run("sync", url, "--wait", "0s", *fields, *flags, more=secret)
                search(f"{name}, sync {flags[-1]}", ended.output + ended.errors)
            if watch:
                ended = end(watch, signal.SIGINT)
                search("watch", ended.output + ended.errors)
            queries = place.run("list", "--json").json or []
            keys = [query["query"] for query in queries if query.get("key", "").endswith(("sort=up", name))]
            for command in ["list", "errors", "stats", "verify", "show", "pages", "why", "export", "retry"]:
                about = keys[:1] if command in ["show", "pages", "why", "export", "retry"] else []
                for form in [[], ["--json"]]:
                    wait = ["--wait", "0s"] if command == "retry" else []
                    ended = place.run(command, *about, *form, *wait, "--verbose", more=secret)
                    search(f"{name}, {command} {form}", ended.output + ended.errors)
            for path in place.files():
                search(f"{name}, {path.name}", path.read_bytes())
                search(f"{name}, the name of {path.name}", path.name.encode())
            origin.taken()
    return outcome
