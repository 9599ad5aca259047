"""A PostgreSQL server of its own, by Scripts/postgres, in a fresh directory that is removed with it."""

import pathlib, re, shutil, subprocess, sys, tempfile

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "postgres"


class Database:
    """`address` is `None` where PostgreSQL is not installed."""

    def __init__(self):
        self.address = None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="pagecache-")
        ended = subprocess.run([SCRIPT, "start", self.folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if ended.returncode == 69:
            print(ended.stderr, end="", file=sys.stderr)
        elif ended.returncode != 0:
            shutil.rmtree(self.folder)
            raise RuntimeError(f"PostgreSQL does not start: {ended.stderr}")
        else:
            text = pathlib.Path(self.folder, "env").read_text()
            self.address = re.search(r"PAGECACHE_TEST_POSTGRES='([^']*)'", text)[1]
        return self

    def __exit__(self, *_):
        if self.address:
            subprocess.run([SCRIPT, "stop", self.folder], stdout=subprocess.DEVNULL)
        shutil.rmtree(self.folder)
