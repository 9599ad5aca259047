#!/usr/bin/env python3
"""Python's caches with the same pages: stored, read back, fetched again unchanged. Write-ahead log and synchronous=NORMAL, as
everywhere here.

usage: pages.py [ROUNDS]        default: 1,000. Needs what requirements.txt names.
"""

import random
import shutil
import sys
import tempfile

from material import mean_row, page, row, timed

READ = "read a page, one of 50, own thread"
STORE = "commit a page"


def stored(who, times):
    row(STORE, who, times)
    mean_row(STORE, who, times)


def diskcache_(directory, rounds):
    import diskcache

    # Its defaults: a write-ahead log, synchronous=NORMAL, a memory map. Values above `disk_min_file_size` become files; here
    # all are rows.
    cache = diskcache.Cache(directory, disk_min_file_size=1 << 30, size_limit=1 << 40)
    stored("diskcache", timed(rounds, lambda pair: cache.set(*pair), lambda number: (number, page(number))))
    row(READ, "diskcache", timed(rounds, lambda number: len(cache[number]), lambda _: random.randrange(50)))
    cache.close()


class Canned:
    """The answers of an origin, without one."""

    def __init__(self):
        self.body = b""
        self.asked = 0

    def next(self):
        self.asked += 1
        return self.body


def requests_cache_(directory, rounds):
    import io

    import requests
    import requests_cache
    import urllib3

    canned = Canned()

    class Adapter(requests.adapters.HTTPAdapter):
        def send(self, request, **_):
            raw = urllib3.HTTPResponse(
                body=io.BytesIO(canned.next()), status=200, headers={"Content-Type": "application/json"}, preload_content=False
            )
            return self.build_response(request, raw)

    session = requests_cache.CachedSession(backend=requests_cache.SQLiteCache(directory + "/cache.sqlite", wal=True))
    session.mount("http://", Adapter())

    def fetch(number):
        return len(session.get("http://origin/items?offset=%d" % (number * 50)).content)

    def prepare(number):
        canned.body = page(number)
        return number

    stored("requests-cache", timed(rounds, fetch, prepare))
    row(READ, "requests-cache", timed(rounds, fetch, lambda _: random.randrange(50)))
    assert canned.asked == rounds, "everything was read from the cache"
    session.close()


def hishel_(directory, rounds):
    import hishel
    import httpx
    from hishel.httpx import CacheTransport

    canned = Canned()

    def answer(_):
        headers = {"Content-Type": "application/json", "Cache-Control": "max-age=86400"}
        return httpx.Response(200, headers=headers, content=canned.next())

    transport = CacheTransport(
        next_transport=httpx.MockTransport(answer), storage=hishel.SqliteStorage(database_path=directory + "/cache.sqlite")
    )
    client = httpx.Client(transport=transport)

    def fetch(number):
        return len(client.get("http://origin/items?offset=%d" % (number * 50)).content)

    def prepare(number):
        canned.body = page(number)
        return number

    stored("hishel with httpx", timed(rounds, fetch, prepare))
    row(READ, "hishel with httpx", timed(rounds, fetch, lambda _: random.randrange(50)))
    assert canned.asked == rounds, "everything was read from the cache"
    client.close()


def main():
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    for peer in (diskcache_, requests_cache_, hishel_):
        directory = tempfile.mkdtemp(prefix="pagecache-peer-")
        try:
            peer(directory, numbers[0] if numbers else 1_000)
        finally:
            shutil.rmtree(directory, ignore_errors=True)


main()
