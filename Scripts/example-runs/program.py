"""Starts programs, watches their output, and ends only these processes."""

import contextlib, os, re, signal, subprocess, time


class Broken(Exception):
    """An example breaks a promise of its description."""


def expect(holds, what):
    if not holds:
        raise Broken(what)


def until(look, what, seconds=30):
    """Returns the first result of `look` that is true. Raises Broken after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise Broken(f"{what}: not within {seconds} s")


class Program:
    """A running program, whose output goes into files."""

    def __init__(self, folder, command, **environment):
        self.name = command[0].name
        self.files = [folder / f"{self.name}-{time.monotonic_ns()}.{end}" for end in ("out", "err")]
        with contextlib.ExitStack() as stack:
            out, err = [stack.enter_context(open(file, "wb")) for file in self.files]
            self.process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder,
                env={**os.environ, **environment})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def out(self):
        return self.files[0].read_bytes()

    @property
    def said(self):
        return self.files[1].read_text()

    def wait(self, seconds=60):
        """Its exit status, once it has ended by itself."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Broken(f"{self.name} has not ended within {seconds} s; it said:\n{self.said}") from None

    def end(self, seconds):
        """Its exit status after SIGTERM, and how long that took."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        status = self.wait(seconds)
        return status, time.monotonic() - begun

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def port(self):
        """Where it listens, as its server says."""

        def look():
            found = re.search(r"listening on 127\.0\.0\.1:(\d+)", self.said)
            expect(found or self.process.poll() is None, f"{self.name} has ended:\n{self.said}")
            return found

        return int(until(look, f"{self.name} listens")[1])


class Upstream(Program):
    """The examples' own list API. `port` 0 is any that is free."""

    def __init__(self, programs, folder, **settings):
        super().__init__(folder, [programs / "Upstream", *(f"{name}={value}" for name, value in settings.items())])
        self.url = f"http://127.0.0.1:{self.port()}/articles"

    @property
    def asked(self):
        """Position and limit of each request so far, in order of arrival."""
        found = re.findall(r"asked for /articles(\S*)", self.said)
        number = lambda query, name, other: int((re.search(rf"\b{name}=(\d+)", query) or [0, other])[1])
        return [(number(query, "offset", 0), number(query, "limit", 50)) for query in found]


def article(number):
    """An article as the upstream sends it, byte for byte."""
    return b'{"id":%d,"title":"Article %d"}' % (number, number)
