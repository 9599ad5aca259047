"""Places where a store cannot exist or cannot be written: refused with a clear message, unchanged, and readable (R9, R42)."""

import os, pathlib, shutil, socket, stat, subprocess, time
from bench import Outcome, has_open, until
from origin import Origin

NOBODY = 65_534


def contents(folder):
    """Every file below, with its kind and its contents."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        mode = os.lstat(path).st_mode
        found[str(path.relative_to(folder))] = (stat.S_IFMT(mode), path.read_bytes() if stat.S_ISREG(mode) else None)
    return found


def directory(place, _):
    os.mkdir(place.store)


def fifo(place, _):
    os.mkfifo(place.store)


def unix_socket(place, _):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(place.store)


def dangling_link(place, _):
    os.symlink(f"{place.folder}/nowhere/store.sqlite", place.store)


def device(place, _):
    os.symlink("/dev/zero", place.store)


def text(place, _):
    pathlib.Path(place.store).write_text("my notes\n" * 100)


def below_a_file(place, _):
    pathlib.Path(f"{place.folder}/file").write_text("x")
    place.store = f"{place.folder}/file/store.sqlite"


def another_database(place, _):
    import sqlite3

    with sqlite3.connect(place.store) as connection:
        connection.execute("CREATE TABLE theirs (a)")


def second_name(place, good):
    """A hard link: its log would lie beside the other name (https://www.sqlite.org/howtocorrupt.html, 2.5)."""
    shutil.copy(good, f"{place.folder}/other.sqlite")
    os.link(f"{place.folder}/other.sqlite", place.store)


def link_of_another(place, good):
    shutil.copy(good, f"{place.folder}/theirs.sqlite")
    os.symlink(f"{place.folder}/theirs.sqlite", place.store)
    os.lchown(place.store, NOBODY, NOBODY)


REFUSED = {
    directory: {64},
    fifo: {64},
    unix_socket: {64},
    dangling_link: {66, 73},
    device: {64},
    text: {65},
    below_a_file: {73, 66},
    another_database: {65},
    second_name: {65, 77},
    link_of_another: {77},
}


def odd_paths(bench, broken):
    outcome = Outcome()
    with Origin(items=60) as origin:
        url, good = origin.url(), bench.place()
        good.sync(url)
        for make, codes in REFUSED.items():
            if make is link_of_another and os.geteuid() != 0:
                # Only root can give a link away.
                continue
            place = bench.place()
            # The control: links look like own files, and no file gets mode 0600.
            place.control = {"SHIM_CREDULOUS": "1"} if broken else {}
            make(place, good.store)
            before = contents(place.folder)
            for words in [["sync", url, "--quiet"], ["show", url], ["purge", "--all", "--yes"], ["verify"]]:
                outcome.cases += 1
                ended = place.run(*words, timeout=20)
                outcome.expect_tidy(ended, f"{make.__name__}, {words[0]}", codes | {66, 77} if words[0] != "sync" else codes)
                outcome.expect(contents(place.folder) == before, f"{make.__name__}, {words[0]}: something was changed")
        place = bench.place()
        place.control = {"SHIM_CREDULOUS": "1"} if broken else {}
        place.store = f"{place.folder}/a/b/store.sqlite"
        outcome.expect(place.sync(url).status == 0, "missing directories are not made")
        for path in pathlib.Path(place.folder).rglob("*"):
            outcome.cases += 1
            mode = stat.S_IMODE(os.stat(path).st_mode)
            outcome.expect(mode == (0o700 if path.is_dir() else 0o600), f"{path.name} has mode {mode:o}")
    return outcome


def as_nobody(place, *words):
    """The tool, run by an ordinary user: root may do everything. It and its place lie where that user gets to."""
    return place.run(
        *words, command=["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", f"{place.folder}/../tool"]
    )


def no_permission(bench, broken):
    """A file, a directory or both that may be read and not written, or not even read."""
    outcome = Outcome()
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        outcome.notes.append("needs root and setpriv")
        return outcome
    shutil.copy(bench.tool, bench.root / "tool")
    os.chmod(bench.root, 0o755)
    with Origin(items=60) as origin:
        url = origin.url()
        for file, folder, readable in [
            (0o444, 0o755, True),
            (0o444, 0o555, True),
            (0o644, 0o555, True),
            (0o000, 0o755, False),
            (0o600, 0o700, False),
        ]:
            place = bench.place()
            place.sync(url)
            for path in place.files():
                path.chmod(file)
            os.chmod(place.folder, folder)
            if broken:
                # The control grants all permissions.
                for path in place.files():
                    path.chmod(0o666)
                os.chmod(place.folder, 0o777)
            before, words = contents(place.folder), f"file {file:o}, directory {folder:o}"
            origin.answer = lambda asked, _: (200, {}, b'{"total":1,"items":[{"id":"other"}]}')
            for command in [["sync", url, "--quiet", "--wait", "0s"], ["purge", "--all", "--yes"]]:
                outcome.cases += 1
                ended = as_nobody(place, *command)
                outcome.expect_tidy(ended, f"{words}, {command[0]}", {77, 74, 73})
                outcome.expect(contents(place.folder) == before, f"{words}, {command[0]}: something was changed")
            origin.answer = None
            outcome.cases += 1
            shown = as_nobody(place, "show", url)
            if readable:
                outcome.expect(shown.output.split(b"\n")[:-1] == origin.truth(), f"{words}: show {shown}")
            else:
                outcome.expect_tidy(shown, f"{words}, show", {77})
    return outcome


def read_only(bench, broken):
    """A read-only file system: held items are served, and commands that write say why they cannot."""
    outcome = Outcome()
    with Origin(items=60) as origin:
        url, place = origin.url(), bench.place()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", place.folder], capture_output=True).returncode:
            outcome.notes.append("no file system of its own may be mounted here")
            return outcome
        try:
            place.sync(url)
            # The control mounts it for writing.
            subprocess.run(["mount", "-o", "remount,rw" if broken else "remount,ro", place.folder], check=True)
            before = contents(place.folder)
            for command in [["sync", url], ["gc", "--max-bytes", "1K"], ["verify", "--repair"], ["purge", "--all", "--yes"]]:
                outcome.cases += 1
                ended = place.run(*command, "--quiet")
                outcome.expect_tidy(ended, command[0], {77})
                outcome.expect(b"read-only" in ended.errors, lambda: f"{command[0]}: {ended}")
            if not broken:
                outcome.expect(contents(place.folder) == before, "something was changed")
                outcome.cases += 1
                held, shown = place.held(url)
                outcome.expect(list(held.values()) == origin.truth(), lambda: f"show: {shown}")
        finally:
            subprocess.run(["umount", place.folder], check=False)
    return outcome


def fill(folder):
    """Writes a file, `filler`, until the file system has not a byte left."""
    with open(f"{folder}/filler", "wb", buffering=0) as filler:
        for size in [1 << 12, 1]:
            try:
                while filler.write(bytes(size)):
                    pass
            except OSError:
                pass


def full_at_rest(bench, broken):
    """A whole store on a file system without a free byte and with the smallest blocks: served, and emptied by `gc --rewrite`."""
    outcome = Outcome()
    with Origin(items=3_000) as origin:
        url = origin.url()
        for kind in ["tmpfs", "ext4"]:
            place = bench.place()
            if kind == "tmpfs":
                mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "none", place.folder]
            else:
                image = place.folder.rstrip("/") + ".image"
                with open(image, "wb") as file:
                    file.truncate(12 << 20)
                if subprocess.run(["mkfs.ext4", "-q", "-b", "1024", "-m", "0", image], capture_output=True).returncode:
                    outcome.notes.append("no ext4 here")
                    continue
                mount = ["mount", "-o", "loop", image, place.folder]
            if subprocess.run(mount, capture_output=True).returncode:
                outcome.notes.append(f"no {kind} of its own may be mounted here")
                continue
            try:
                place.sync(url)
                fill(place.folder)
                # The control: another process has the store open, so that nothing can be removed.
                other = place.start("watch", "--quiet") if broken else None
                if other:
                    time.sleep(1)
                for command in [["list"], ["verify"]]:
                    outcome.cases += 1
                    outcome.expect_tidy(place.run(*command, "--quiet"), f"{kind}: {command[0]}", {0})
                # A deletion has no room for its log. Nothing is lost, unless the user accepts the risk.
                outcome.cases += 2
                collected = place.run("gc", "--max-bytes", "50K", "--quiet")
                outcome.expect_tidy(collected, f"{kind}: gc", {74})
                outcome.expect(b"--rewrite" in collected.errors, lambda: f"{kind}: gc does not name --rewrite: {collected}")
                held, shown = place.held(url)
                outcome.expect(len(held) == 3_000, lambda: f"{kind}: {len(held)} items after a gc without room: {shown}")
                collected = place.run("gc", "--max-bytes", "50K", "--rewrite", "--quiet")
                outcome.expect_tidy(collected, f"{kind}: gc --rewrite", {0})
                held, shown = place.held(url)
                outcome.expect(0 < len(held) < 3_000, lambda: f"{kind}: {len(held)} items after gc: {shown}")
                outcome.expect_exact(held, origin.truth(), f"{kind}: after gc")
                os.unlink(f"{place.folder}/filler")
                outcome.expect_sound(place, kind)
                if other:
                    other.kill()
                    other.wait()
            finally:
                subprocess.run(["umount", place.folder], check=False)
                if kind == "ext4":
                    os.unlink(image)
    return outcome


def full_disk(bench, broken):
    """A file system of 1 MiB, or a limit for files: served, said to be full, emptied by a purge, and usable again."""
    outcome = Outcome()
    with Origin(items=8_000) as origin:
        url = origin.url()
        for kind in ["file system", "limit"]:
            place, mounted = bench.place(), False
            if kind == "file system":
                mounted = (
                    subprocess.run(
                        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", place.folder], capture_output=True
                    ).returncode
                    == 0
                )
                if not mounted:
                    outcome.notes.append("no file system of its own may be mounted here: only the limit for files was tried")
                    continue
            limit = [] if kind == "file system" else ["prlimit", "--fsize=1000000"]
            try:
                outcome.cases += 1
                tool = limit + [bench.tool]
                ended = place.sync(url, command=tool)
                outcome.expect_tidy(ended, f"{kind}: sync", {74})
                outcome.expect(b'"disk_full"' in ended.errors, lambda: f"{kind}: not told that the disk is full: {ended}")
                held, shown = place.held(url, command=tool)
                outcome.expect(len(held) > 0, lambda: f"{kind}: nothing is served: {shown}")
                outcome.expect_exact(held, origin.truth(), kind)
                outcome.expect_sound(place, kind)
                # The control: another process has the store open, and it cannot be made anew.
                other = place.start("watch", "--quiet") if broken else None
                if other:
                    until(lambda: has_open(other, place.store))
                if kind == "file system":
                    # Nothing is left, so that not even deleting fits.
                    fill(place.folder)
                    outcome.cases += 1
                    collected = place.run("gc", "--max-bytes", "200K", "--rewrite", "--json")
                    outcome.expect_tidy(collected, f"{kind}: gc", {0})
                    left, shown = place.held(url)
                    outcome.expect(0 < len(left) < len(held), lambda: f"{kind}: {len(left)} of {len(held)} items after gc: {shown}")
                    outcome.expect_exact(left, origin.truth(), f"{kind}: after gc")
                    outcome.expect_sound(place, f"{kind}: after gc")
                    space = os.statvfs(place.folder)
                    outcome.expect(space.f_bavail * space.f_frsize > 200_000, f"{kind}: gc made no room")
                    os.unlink(f"{place.folder}/filler")
                purged = place.run("purge", "--all", "--yes", "--json", command=tool)
                outcome.expect_tidy(purged, f"{kind}: purge", {0})
                size = sum(path.stat().st_size for path in place.files())
                outcome.expect(size < 200_000, f"{kind}: {size} bytes are left after a purge")
                if other:
                    other.kill()
                    other.wait()
                origin.items = 300
                outcome.expect(place.sync(url, command=tool).status == 0, f"{kind}: cannot be used again")
                outcome.expect(list(place.held(url)[0].values()) == origin.truth(), f"{kind}: not the origin's list afterwards")
                origin.items = 8_000
            finally:
                if mounted:
                    subprocess.run(["umount", "-l", place.folder], check=False)
    return outcome
