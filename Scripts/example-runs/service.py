"""`OfflineService`: answers at once from its store, with its age, whatever state its upstream is in; ends within a second."""

import contextlib, http.client, json, re, sqlite3, statistics, time
from program import Program, Upstream, article, expect, until

COUNT = 300
# For how long the service calls a list fresh, and how long its upstream takes for an answer, in seconds.
FRESH, SLOW = 3, 2


class Answer:
    """What one GET came to, and how long it took."""

    def __init__(self, port, path):
        begun = time.monotonic()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            self.status, self.body, self.headers = response.status, response.read(), response.headers
        self.seconds = time.monotonic() - begun

    @property
    def age(self):
        return int(self.headers["Age"])

    @property
    def ttl(self):
        return int(re.fullmatch(r"OfflineService; hit; ttl=(-?\d+); detail=(?:fresh|stale)", self.cache)[1])

    @property
    def cache(self):
        return self.headers["Cache-Status"]


def run(programs, folder):
    store = folder / "service/store.sqlite"
    command = [programs / "OfflineService"]

    def serve(url):
        return Program(folder, [*command, url, store], PORT="0", FRESH_FOR=str(FRESH))

    # With an upstream that never answers, clients get 503 at once.
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(Upstream(programs, folder, articles=COUNT, delay=600_000, port=0))
        url, upstream_port = upstream.url, upstream.port()
        service = stack.enter_context(serve(url))
        port = service.port()
        empty = Answer(port, "/items")
        expect(empty.status == 503 and empty.headers["Retry-After"] == "1", f"with nothing cached: {empty.status}")
        expect(empty.cache == "OfflineService; detail=nothing-cached", f"with nothing cached: {empty.cache}")
        expect(Answer(port, "/healthz").status == 503, "healthy with nothing cached")
        upstream.kill()

        upstream = stack.enter_context(
            Upstream(programs, folder, articles=COUNT, delay=SLOW * 1_000, fails=5, port=upstream_port))
        whole(port)
        beyond = Answer(port, f"/items?offset={2**63 - 1}&limit=100")
        expect(beyond.status == 200 and numbers(beyond) == [], f"beyond any end: {beyond.status}")
        taken = quick(port)
        expect(max(upstream.asked) > (0, 0), "the upstream was never asked")
        away(port, upstream)
        metrics(port)

        # A request that is under way holds a lease; ending the service gives it back (R30).
        upstream = stack.enter_context(Upstream(programs, folder, articles=COUNT, delay=600_000, port=upstream_port))
        until(lambda: upstream.asked, "the service asks the upstream that is back", 60)
        expect(leases(store) == 1, "nothing is in flight")
        answer = Answer(port, "/items")
        expect(answer.status == 200 and answer.ttl < 0, f"while the upstream hangs: {answer.status}, {answer.cache}")
        ended = stop(service, store)
        upstream.kill()

        # The next service has only the store.
        begun = time.monotonic()
        service = stack.enter_context(serve(url))
        port = service.port()
        again = Answer(port, "/items?offset=100&limit=100")
        expect(again.status == 200 and again.ttl < 0, f"after a restart: {again.status}, {again.cache}")
        expect(again.age >= answer.age, "after a restart the list looks younger")
        expect(numbers(again) == [COUNT - 100 - index for index in range(100)], "after a restart something else was served")
        started = time.monotonic() - begun
        stop(service, store)
    return f"{taken * 1_000:.1f} ms an answer, upstream {SLOW} s; ended in {ended:.2f} s; served {started:.2f} s after a restart"


def whole(port):
    """The engine fetches all of a pinned list. Until then `missing` names the gaps."""

    def look():
        answer = Answer(port, f"/items?offset={COUNT - 100}&limit=100")
        return answer if answer.status == 200 and not json.loads(answer.body)["missing"] else None

    answer = until(look, "the whole list is cached", 90)
    expect(json.loads(answer.body)["total"] == COUNT, "the total is another")
    expect(b",".join(article(number) for number in range(100, 0, -1)) in answer.body, "items are not as they were sent")


def quick(port):
    """Answers do not wait for the upstream, be it asked meanwhile or not; the median time of one."""
    answers = []
    end = time.monotonic() + FRESH + SLOW + 1
    while time.monotonic() < end:
        answers.append(Answer(port, "/items?offset=40&limit=20"))
        time.sleep(0.02)
    taken = [answer.seconds for answer in answers]
    expect(all(answer.status == 200 for answer in answers), "not everybody was answered")
    expect(len({answer.age for answer in answers}) > 1, "the age stands still")
    expect(all(answer.age + answer.ttl == FRESH for answer in answers), "age and ttl do not fit together")
    usual = statistics.median(taken)
    expect(usual < 0.05 and max(taken) < SLOW / 2, f"an answer takes {usual:.3f} s, and at most {max(taken):.3f} s")
    return usual


def away(port, upstream):
    """After the upstream is killed, the same items are served, and their age grows."""
    before = numbers(Answer(port, "/items?offset=40&limit=20"))
    upstream.kill()
    stale = until(lambda: next((answer for answer in [Answer(port, "/items")] if answer.ttl < 0), None), "the list goes stale")
    expect(stale.cache.endswith("; detail=stale"), f"the header says {stale.cache}")
    begun = time.monotonic()
    time.sleep(2)
    later = Answer(port, "/items?offset=40&limit=20")
    expect(abs(later.age - stale.age - (time.monotonic() - begun)) < 1.5, f"the age went from {stale.age} to {later.age}")
    expect(numbers(later) == before, "without the upstream something else is served")
    health = Answer(port, "/healthz")
    expect((health.status, health.body) == (200, b"stale\n"), f"health: {health.status} {health.body}")


def metrics(port):
    answer = Answer(port, "/metrics")
    lines = answer.body.decode().splitlines()
    form = re.compile(r'# TYPE [a-z_]+ (counter|gauge|histogram)|[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [0-9.e+-]+')
    strange = [line for line in lines if not form.fullmatch(line)]
    expect(answer.headers["Content-Type"] == "text/plain; version=0.0.4" and not strange, f"no metrics: {strange}")
    value = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}
    for counted in ['reads_total{cached="fresh"}', 'reads_total{cached="stale"}', 'requests_total{outcome="page"}',
                    'requests_total{outcome="server"}', 'requests_total{outcome="transport"}', "pages_committed_total"]:
        expect(value.get(f"pagecache_{counted}", 0) > 0, f"pagecache_{counted} counts nothing")
    timer, answered = "pagecache_fetch_duration_seconds", 'outcome="answered"'
    count = value[f"{timer}_count{{{answered}}}"]
    expect(value[f"{timer}_sum{{{answered}}}"] >= SLOW * count > 0, "fetches were quicker than their upstream")
    below, all = [value[f'{timer}_bucket{{{answered},le="{bound}"}}'] for bound in ("1.0", "+Inf")]
    expect(below == 0 and all == count, f"{below} of {count} fetches below a second, {all} in all")


def stop(service, store):
    """SIGTERM: status 0 within a second, and no page is in flight afterwards."""
    status, seconds = service.end(10)
    expect(status == 0 and seconds < 1, f"SIGTERM: status {status} after {seconds:.2f} s:\n{service.said}")
    expect(leases(store) == 0, "a lease is left")
    return seconds


def leases(store):
    """How many pages are in flight, as the ledger says."""
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as database:
        return database.execute(
            "SELECT count(*) FROM ledger WHERE state = 'in_flight' OR lease_owner IS NOT NULL").fetchone()[0]


def numbers(answer):
    return [item["id"] for item in json.loads(answer.body)["items"]]
