"""House rules on dangers: processes, SQL, printing, time and drivers have one module each."""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch

from tests.architecture.house import (
    ROOT,
    Module,
    docstring_nodes,
    dotted,
    imports,
    matches,
    modules,
    nodes,
    require_clean,
    snippet,
    start_up_imports,
)

PROCESS_MODULES = ("subprocess", "multiprocessing", "pty", "asyncio", "concurrent.futures.process")
# Path → why it may use asyncio, although that could start processes.
MAY_USE_ASYNCIO = {
    "gitworker/acp/run.py": "the library for ACP needs its loop",
    "gitworker/web/jobs.py": "a change is awaited in the server's loop",
    "gitworker/web/live.py": "the streams of the page wait in the server's loop",
    "gitworker/web/log_stream.py": "the streams of the page wait in the server's loop",
    "gitworker/web/server.py": "the type of a connection",
}
PROCESS_CALLS = re.compile(
    r"os\.(system|popen|fork|forkpty|posix_spawnp?|(spawn|exec)[lv]p?e?|startfile)$"
)
SQL = re.compile(
    r"\b(SELECT\s.+\sFROM\s|SELECT\s+(count|max|min|sum|1)\b|INSERT\s+(OR\s+\w+\s+)?INTO\s"
    r"|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|(CREATE|DROP|ALTER)\s+(UNIQUE\s+|TEMP\s+)?"
    r"(TABLE|INDEX|TRIGGER|VIEW)\b|PRAGMA\s+\w|BEGIN\s+IMMEDIATE\b)",
    re.DOTALL,
)
QUERY_CALLS = ("row", "rows", "run", "value", "write_one")
QUERY_NAME = re.compile(r"[a-z]+\.[a-z_0-9]+")
COLUMN = re.compile(r"(\w+[._])*row\['\w+'\]")
# Hot verbs answer before click loads, so they have their own writer.
PRINTERS = ("gitworker/cli/output*.py", "gitworker/cli/hot*.py", "gitworker/__main__.py")
JOBS = "gitworker/processes/jobs.py"
PROCESS_TABLE = "gitworker/processes/table.py"
IN_PROCESS_TABLE = re.compile(r"/proc(/|/self(/ns/\w+)?)?$")  # `/proc/` in f"/proc/{pid}/stat"
REF_NAMES = "gitworker/model/ref_names.py"
CLOCK = "gitworker/clock.py"
PROC = "gitworker/proc.py"
# Path → why it may use datetime. Parsing a text reads no clock; `now` and `today` stay forbidden.
MAY_PARSE_TIMES = {
    "gitworker/states/log/log_schema.py": "reads the timestamps of a transition log",
    "gitworker/states/log/validate.py": "checks that they only grow",
}
CLOCK_CALLS = ("now", "utcnow", "today", "fromtimestamp")
# Flags of os.open that keep it from waiting for the other end of a FIFO.
NEVER_WAITING = ("os.O_RDWR", "os.O_EXCL", "os.O_DIRECTORY", "os.O_NONBLOCK")
# Files of the system and of our own package, and open descriptors.
SYSTEM_OR_OPEN = re.compile(
    r"(f?'/proc/|f'\{_HERE\}/|os\.(open|dup)\(|(fd|descriptor|mounts|raw)$)"
)
# Path → why it may open any file.
MAY_WAIT = {
    "gitworker/paths.py": "has the opener itself",
    "gitworker/proc.py": "writes the trace that GITWORKER_TRACE names",
    "gitworker/cli/hot/send.py": "reads the payload that its user names",
    "gitworker/cli/commands/task/text_options.py": "reads the text that its user names",
    "gitworker/cli/commands/repair/validate.py": "reads the log that its user names",
}
# Import name → the folder that may import it, and whether it may at module level.
DRIVERS = {
    "apsw": ("gitworker/store/", True),
    "click": ("gitworker/cli/", True),
    "git": ("gitworker/repo/", False),
    "pygit2": ("gitworker/repo/", False),
    "acp": ("gitworker/acp/", True),
    "starlette": ("gitworker/web/", True),
    "uvicorn": ("gitworker/web/", True),
    "jinja2": ("gitworker/web/", True),
    "textual": ("gitworker/tui/", True),
    "rich": ("gitworker/tui/", True),
    "pygments": ("gitworker/review/page/", False),
    "gitworker.store.sqlite": ("gitworker/store/", True),  # others open it by `store.backend`
}
# Each takes longer to import than a bare interpreter takes to start.
NEVER_AT_START = ("importlib.metadata", "logging", "argparse", "sqlite3", "rich", "inspect")


def find_processes(module: Module) -> Iterator[str]:
    """Complain about a module other than proc that can start a process."""
    if module.path == PROC:
        return
    for name, statement in imports(module.tree):
        if name == "asyncio" and module.path in MAY_USE_ASYNCIO:
            continue
        if matches(name, PROCESS_MODULES) or PROCESS_CALLS.match(name):
            yield f"{module.at(statement)}: imports {name}"
    for node in nodes(module.tree):
        if isinstance(node, ast.Attribute) and PROCESS_CALLS.match(dotted(node)):
            yield f"{module.at(node)}: {dotted(node)}"


def find_sql(module: Module) -> Iterator[str]:
    """Complain about text that looks like SQL outside the store."""
    if module.path.startswith("gitworker/store/"):
        return
    documentation = docstring_nodes(module)
    for node in nodes(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = SQL.search(node.value)
            if found and id(node) not in documentation:
                yield f"{module.at(node)}: {found.group(0)!r}"


def find_queries(module: Module) -> Iterator[str]:
    """Complain about names of queries and columns outside the store."""
    if module.path.startswith("gitworker/store/"):
        return
    for node in nodes(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            texts = [arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant)]
            if node.func.attr in QUERY_CALLS and QUERY_NAME.fullmatch(str(*texts)):
                yield f"{module.at(node)}: {texts[0]!r}"
        elif isinstance(node, ast.Subscript) and COLUMN.fullmatch(ast.unparse(node)):
            yield f"{module.at(node)}: {ast.unparse(node)}"


def find_printing(module: Module) -> Iterator[str]:
    """Complain about writing to the standard streams outside the output modules."""
    if any(fnmatch(module.path, pattern) for pattern in PRINTERS):
        return
    for node in nodes(module.tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in ("print", "click.echo", "click.secho") or _writes_stream(node, name):
                yield f"{module.at(node)}: {name}"
        elif isinstance(node, ast.Attribute) and dotted(node) in ("sys.stdout", "sys.stderr"):
            yield f"{module.at(node)}: {dotted(node)}"


def find_clocks(module: Module) -> Iterator[str]:
    """Complain about a module other than clock that reads time."""
    if module.path == CLOCK:
        return
    for name, statement in imports(module.tree):
        parses = name.startswith("datetime.") and module.path in MAY_PARSE_TIMES
        if matches(name, ("time", "datetime", "calendar", "sched")) and not parses:
            yield f"{module.at(statement)}: imports {name}"
    for node in nodes(module.tree):
        if isinstance(node, ast.Attribute):
            owner = dotted(node.value).rpartition(".")[2]
            if owner in ("datetime", "date") and node.attr in CLOCK_CALLS:
                yield f"{module.at(node)}: {dotted(node)}"


def find_waiting(module: Module) -> Iterator[str]:
    """Complain about an `open` that a FIFO blocks, or that writes through a link.

    Allowed are `opener=regular`, descriptors, our own package and files of the system.
    """
    for node in nodes(module.tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name, text = dotted(node.func), ast.unparse(node.args[0])
        if module.path in MAY_WAIT or SYSTEM_OR_OPEN.match(text):
            continue
        has_opener = any(one.arg == "opener" for one in node.keywords)
        is_bare = name == "gzip.open" or (name == "open" and not has_opener)
        if is_bare or (name == "os.open" and text != "os.devnull" and _may_wait(node.args[1])):
            yield f"{module.at(node)}: {name}({text})"


def _may_wait(flags: ast.expr) -> bool:
    """Return whether no flag of `os.open` prevents waiting; a variable has its own definition."""
    names = {dotted(one) for one in ast.walk(flags)}
    is_variable = any(name.isidentifier() and name != "os" for name in names)
    return not is_variable and names.isdisjoint(NEVER_WAITING)


def find_drivers(module: Module) -> Iterator[str]:
    """Complain about a heavy package imported outside its room, or at a forbidden module level."""
    at_start = {id(statement) for _, statement in start_up_imports(module)}
    for name, statement in imports(module.tree):
        for package, (folder, at_module_level) in DRIVERS.items():
            if not matches(name, (package,)):
                continue
            if not module.path.startswith(folder):
                yield f"{module.at(statement)}: {package} belongs in {folder}"
            elif not at_module_level and id(statement) in at_start:
                yield f"{module.at(statement)}: {package} at module level"
        own = [one for one in DRIVERS if matches(name, (one,)) and DRIVERS[one][1]]
        if matches(name, NEVER_AT_START) and id(statement) in at_start and not own:
            yield f"{module.at(statement)}: {name} at module level"


def find_detached(module: Module) -> Iterator[str]:
    """Complain about a background process that is started outside the module for jobs."""
    if module.path in (PROC, JOBS):
        return
    for node in nodes(module.tree):
        name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
        if name in ("spawn_detached", "spawn_reporting"):
            yield f"{module.at(node)}: {name}"


def find_table_readers(module: Module) -> Iterator[str]:
    """Complain about a look at other processes outside the module that reads them."""
    for node in nodes(module.tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if module.path != PROCESS_TABLE and IN_PROCESS_TABLE.match(node.value):
            yield f"{module.at(node)}: {node.value!r}"


def find_ref_names(module: Module) -> Iterator[str]:
    """Complain about a ref name that is spelled outside the module that owns them."""
    if module.path == REF_NAMES:
        return
    documentation = docstring_nodes(module)
    for node in nodes(module.tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if re.search(r"\brefs/", node.value) and id(node) not in documentation:
            yield f"{module.at(node)}: {node.value!r}"


def find_lock_imports(module: Module) -> Iterator[str]:
    """Yield the place of each import of filelock."""
    for name, statement in imports(module.tree):
        if matches(name, ("filelock",)):
            yield module.at(statement)


def test_processes() -> None:
    """Only proc starts processes."""
    missing = {path for path in MAY_USE_ASYNCIO if not (ROOT / path).exists()}
    assert not missing, f"MAY_USE_ASYNCIO names {sorted(missing)}. How to fix: take them off"
    fix = f"call gitworker.proc ({PROC}); add a missing feature there"
    require_clean(find_processes, modules("gitworker"), fix)


def test_sql() -> None:
    """SQL is only in the store."""
    fix = "move the statement to gitworker/store/sqlite/queries/<room>.sql and call it by name"
    require_clean(find_sql, modules("gitworker"), fix)


def test_queries() -> None:
    """Names of queries and columns are only in the store."""
    fix = "call a typed function of gitworker/store/, or add one to the module of its noun"
    require_clean(find_queries, modules("gitworker"), fix)


def test_printing() -> None:
    """Only the output modules write to the standard streams."""
    fix = f"return the data and let the command hand it to the output module ({PRINTERS[0]})"
    require_clean(find_printing, modules("gitworker"), fix)


def test_time() -> None:
    """Only clock reads time, and datetime is used to parse a log at most."""
    missing = {path for path in MAY_PARSE_TIMES if not (ROOT / path).exists()}
    assert not missing, f"MAY_PARSE_TIMES names {sorted(missing)}. How to fix: take them off"
    fix = "call gitworker.clock, or take `now` as an argument; stored times are integer ms"
    require_clean(find_clocks, modules("gitworker"), fix)


def test_opening() -> None:
    """No file is opened that could be a FIFO, or written through a link."""
    missing = {path for path in MAY_WAIT if not (ROOT / path).exists()}
    assert not missing, f"MAY_WAIT names {sorted(missing)}. How to fix: take them off"
    fix = "add opener=regular (gitworker.paths), or call regular(path, flags) for os.open"
    require_clean(find_waiting, modules("gitworker"), fix)


def test_background_jobs() -> None:
    """Background jobs are started in one module only."""
    fix = f"call start_job or start_script of {JOBS}"
    require_clean(find_detached, modules("gitworker"), fix)


def test_process_table() -> None:
    """Only one module reads the table of processes."""
    fix = f"call {PROCESS_TABLE}; add a missing question there"
    require_clean(find_table_readers, modules("gitworker"), fix)


def test_ref_names() -> None:
    """Names and prefixes of refs are spelled in one module only."""
    fix = f"call a function or use a prefix of {REF_NAMES}; add a missing one there"
    require_clean(find_ref_names, modules("gitworker"), fix)


def test_drivers() -> None:
    """Heavy packages are imported in their own room only, git libraries inside functions only."""
    fix = (
        "move the call into the room that owns the package; import it in the function that uses it"
    )
    require_clean(find_drivers, modules("gitworker"), fix)


def test_file_locks() -> None:
    """At most one module imports filelock."""
    doors = {
        place.rsplit(":", 1)[0] for m in modules("gitworker") for place in find_lock_imports(m)
    }
    assert len(doors) <= 1, f"filelock is imported by {sorted(doors)}. How to fix: keep one door"


def test_door_rules_find_faults() -> None:
    """Each of these rules finds the ways around it."""
    bad = {
        find_processes: "import subprocess\nimport os\nos.system('x')\nfrom os import fork\n",
        find_sql: "Q = 'SELECT a FROM b '\nR = f'DELETE FROM {x}'\nS = 'PRAGMA wal'\n",
        find_queries: "a.rows('tips.all')\nb.write_one('tips.set', c=1)\nrow['ref']\n",
        find_printing: "import sys, os\nprint(1)\nsys.stdout.write('')\nos.write(1, b'')\n",
        find_clocks: "import time\nfrom datetime import datetime\ndatetime.now()\n",
        find_waiting: "open(p)\nopen(p, 'w')\nos.open(p, os.O_RDONLY)\nopen(p, opener=regular)\n",
        find_detached: "proc.spawn_detached(a)\nspawn_detached(b)\nf = proc.spawn_detached\n",
        find_table_readers: "A = '/proc'\nB = f'/proc/{c}/stat'\nD = '/proc/self'\n",
        find_ref_names: "A = 'refs/heads/' + b\nB = f'refs/worker/{c}'\nd.startswith('refs/')\n",
        find_drivers: "import apsw\ndef f():\n    import git\nimport argparse\n",
    }
    for rule, text in bad.items():
        expected = 3
        assert len(list(rule(snippet(text)))) == expected, rule.__name__


def test_git_libraries_at_module_level() -> None:
    """Even in its own room, pygit2 is not imported at start-up."""
    top = snippet("import pygit2\n", "gitworker/repo/history/walk.py")
    inside = snippet("def f():\n    import pygit2\n", "gitworker/repo/history/walk.py")
    assert list(find_drivers(top)) == ["gitworker/repo/history/walk.py:1: pygit2 at module level"]
    assert list(find_drivers(inside)) == []


def _writes_stream(call: ast.Call, name: str) -> bool:
    """Return whether the call is os.write to descriptor 1 or 2."""
    return (
        name == "os.write"
        and bool(call.args)
        and isinstance(call.args[0], ast.Constant)
        and call.args[0].value in (1, 2)
    )
