"""Three replicas of `OfflineService` on one database: the upstream sends each page once, and any replica can go."""

import collections, contextlib, json, time
from database import Database
from program import Program, Upstream, expect, until
from service import Answer, numbers

COUNT, SIZE = 600, 50


def run(programs, folder):
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database())
        if not database.address:
            return "not run: PostgreSQL is not installed"
        upstream = stack.enter_context(Upstream(programs, folder, articles=COUNT, delay=200, fails=0, port=0))

        def serve():
            # A list that stays fresh is not fetched again during the run.
            return stack.enter_context(
                Program(folder, [programs / "OfflineService", upstream.url, database.address], PORT="0", FRESH_FOR="600"))

        services = [serve() for _ in range(3)]
        ports = [service.port() for service in services]
        for port in ports:
            until(lambda: is_whole(port), f"the replica at {port} serves the whole list", 60)
        asked = collections.Counter(offset for offset, _ in upstream.asked)
        again = {offset: count for offset, count in asked.items() if count > 1 and offset >= SIZE}
        expect(not again, f"pages were fetched again: {again}")
        requests = sum(asked.values())

        # The others go on when one is killed, also without the upstream.
        services[0].kill()
        upstream.kill()
        for port in ports[1:]:
            expect(is_whole(port), "without the killed replica the list is not whole")
        # A new replica serves at once what the others have fetched.
        begun = time.monotonic()
        new = serve().port()
        until(lambda: is_whole(new), "a new replica serves the list", 10)
        started = time.monotonic() - begun
        for service in services[1:]:
            status, seconds = service.end(10)
            expect(status == 0 and seconds < 2, f"SIGTERM: status {status} after {seconds:.2f} s:\n{service.said}")
    return f"{requests} requests for {COUNT // SIZE} pages and 3 replicas; a new replica served after {started:.2f} s"


def is_whole(port):
    expected = COUNT
    for offset in range(0, COUNT, 100):
        answer = Answer(port, f"/items?offset={offset}&limit=100")
        if answer.status != 200 or json.loads(answer.body)["missing"]:
            return False
        expect(numbers(answer) == [expected - index for index in range(100)], "other items than the upstream's")
        expected -= 100
    return True
