#!/usr/bin/env python3
"""A whole list over HTTP into a SQLite file, as one writes it with Python's libraries: a loop with requests-cache, and dlt.

usage: first_sync.py floor|requests-cache|dlt URL DIRECTORY       prints how many items it has at the end

`floor` asks for every page and throws it away: what the origin alone takes, whoever asks.
"""

import json
import sys

SIZE = 100


def floor(url, _):
    """One connection, no library."""
    import http.client
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc)
    total = offset = 0
    while offset == 0 or offset < total:
        connection.request("GET", "%s?offset=%d&limit=%d" % (parts.path, offset, SIZE))
        body = connection.getresponse().read()
        if total == 0:
            total = json.loads(body)["total"]
        offset += SIZE
    return total


def requests_cache_(url, directory):
    """Every answer in the cache's file; a write-ahead log and synchronous=NORMAL."""
    import requests_cache

    backend = requests_cache.SQLiteCache(directory + "/cache.sqlite", wal=True)
    session = requests_cache.CachedSession(backend=backend)
    items = 0
    while True:
        answer = session.get(url, params={"offset": items, "limit": SIZE}).json()
        items += len(answer["items"])
        if items >= answer["total"]:
            return items


def dlt_(url, directory):
    """Its REST source with its offset paginator, into a SQLite file."""
    import os

    os.environ["DLT_DATA_DIR"] = directory
    os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
    os.environ["RUNTIME__LOG_LEVEL"] = "CRITICAL"
    import dlt
    from dlt.sources.helpers.rest_client import RESTClient
    from dlt.sources.helpers.rest_client.paginators import OffsetPaginator

    seen = 0

    @dlt.resource(name="items", write_disposition="append")
    def items():
        nonlocal seen
        client = RESTClient(base_url=url, paginator=OffsetPaginator(limit=SIZE, total_path="total"), data_selector="items")
        for page in client.paginate(""):
            seen += len(page)
            yield page

    pipeline = dlt.pipeline(
        pipeline_name="first_sync", destination=dlt.destinations.sqlalchemy("sqlite:///%s/items.sqlite" % directory),
        dataset_name="main", pipelines_dir=directory,
    )
    pipeline.run(items())
    return seen


print({"floor": floor, "requests-cache": requests_cache_, "dlt": dlt_}[sys.argv[1]](sys.argv[2], sys.argv[3]))
