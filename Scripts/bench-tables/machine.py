"""What was measured on: date, machine, versions."""

import datetime, os, platform, re, sqlite3, subprocess


def line(root, form):
    swift = re.search(r"Swift version (\S+)", said([os.environ.get("SWIFT", "swift"), "--version"], root))
    commit = said(["git", "rev-parse", "--short", "HEAD"], root)
    facts = [
        "Measured on %s" % datetime.date.today().isoformat(), "the %s form" % form,
        "%d processors" % os.cpu_count(), model(), system(), "Swift %s" % (swift[1] if swift else "?"),
        "SQLite %s" % sqlite3.sqlite_version, "Python %s" % platform.python_version(),
        "commit %s" % commit, *peers(root),
    ]
    return ", ".join(fact for fact in facts if fact) + "."


def said(command, place):
    return subprocess.run(command, cwd=place, capture_output=True, text=True).stdout.strip()


def model():
    try:
        return re.search(r"^model name\s*: (.*)$", open("/proc/cpuinfo").read(), re.M)[1].strip()
    except (OSError, TypeError):
        return platform.processor()


def system():
    try:
        return re.search(r'^PRETTY_NAME="(.*)"', open("/etc/os-release").read(), re.M)[1]
    except (OSError, TypeError):
        return platform.platform()


def peers(root):
    grdb = re.search(r'GRDB.*exact: "([^"]+)"', (root / "Benchmarks/Package.swift").read_text())
    python = re.findall(r"^([a-z][\w-]*)(?:\[.*\])?==(\S+)", (root / "Benchmarks/peers/requirements.txt").read_text(), re.M)
    return ["GRDB " + grdb[1]] + ["%s %s" % pair for pair in python]
