"""The page of `git worker web`: keys, the first byte of a large review, memory and an idle server.

The limits of keys and bytes are those of a machine on which a bare interpreter takes 12 ms. Keys
need chromium and `make browser-env`.
"""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path

from benchmarks.bus_scene import percentile
from benchmarks.measure import Failed, Sample, resident_mib, used_s
from benchmarks.results import Result, not_measured, shown
from benchmarks.scene import Scene, commit

WORKERS = 100
FILES, LINES = 10, 500  # 5,000 changed lines
ROUNDS = 20
WITHIN_S = 60.0
LINE = b'<tr class="add">'
KEYS = 100
KEY_MS = 100
COLD_MS, CACHED_MS = 200, 50
MEMORY_MIB = 45
IDLE_S = 30.0
IDLE_PER_CENT = 0.5
SITE = Path(__file__).resolve().parents[2] / ".browser" / "site"
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
# Keep the time from each key to the frame that shows its result, and to the one with the answer of
# the server. A mark shows its result while it waits for the answer, which changes the count.
WATCH = """() => {
  const count = () => document.querySelector("#review-counts")?.textContent;
  let pressed = null, asked = null, before = "";
  window.took = [];
  window.answered = [];
  const keep = (times, since) =>
    requestAnimationFrame(() => requestAnimationFrame(() => times.push(performance.now() - since)));
  addEventListener("keydown", ({ timeStamp }) => {
    pressed = asked = timeStamp;
    before = count();
  }, true);
  new MutationObserver(() => {
    const isAnswered = ![undefined, before].includes(count());
    if (pressed !== null && (isAnswered || document.querySelector(".mark.htmx-request"))) {
      keep(took, pressed);
      pressed = null;
    }
    if (asked !== null && isAnswered) {
      keep(answered, asked);
      asked = null;
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true,
                              attributes: true, attributeFilter: ["class"] });
}"""


@dataclass(frozen=True)
class _Server:
    """A running page: its process, its port, and the cookie of a session."""

    pid: int
    port: int
    address: str
    cookie: str

    def first_ms(self, path: str) -> tuple[float, float]:
        """Return the milliseconds from a request to the first byte and to the first changed line.

        The second is the end of the page if it shows no changes.
        """
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=WITHIN_S)) as connection:
            started = time.perf_counter_ns()
            connection.request("GET", path, headers={"Cookie": self.cookie})
            response = connection.getresponse()
            text = response.read(1)
            took = [(time.perf_counter_ns() - started) / 1e6]
            while LINE not in text and (more := response.read1()):
                text += more
            took.append((time.perf_counter_ns() - started) / 1e6)
            response.read()
            if response.status != 200:
                raise Failed(f"{path}: status {response.status}")
            return took[0], took[1]


def measure_page(scene: Scene) -> Iterator[Result]:
    """Measure the page of a repository with many workers, one of them with a large review."""
    root = scene.small_repository("repo")
    for number in range(WORKERS - 1):
        scene.spawn(root, f"worker-{number}", f"task-{number}")
    worktree = scene.spawn(root, "large", "large-task")
    scene.worker(worktree, "start")
    for number in range(FILES):
        text = "".join(f"value_{at} = compute({at})\n" for at in range(LINES))
        commit(scene, worktree, f"src/module_{number}.py", message="Work", text=text)
    scene.worker(root, "done", "large")
    scene.settle()
    yield from _measure_first_bytes(scene, root)
    with _serving(scene, root) as server:
        yield _measure_idle(server)
        yield _measure_keys(server)


@contextmanager
def _serving(scene: Scene, root: Path) -> Iterator[_Server]:
    """Run `git worker web` with a session."""
    process = subprocess.Popen(
        ["git-worker", "web", "--no-open"], cwd=root, env=dict(scene.env), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        found = re.search(r":(\d+)(/\S*)", address)
        if found is None:
            raise Failed(f"`web` prints no address: {process.communicate()[1][-200:]}")
        port = int(found[1])
        with closing(HTTPConnection("127.0.0.1", port, timeout=WITHIN_S)) as connection:
            connection.request("GET", found[2])
            response = connection.getresponse()
            cookie = (response.getheader("set-cookie") or "").partition(";")[0]
        yield _Server(process.pid, port, address, cookie)
    finally:
        process.terminate()
        process.communicate()


def _measure_first_bytes(scene: Scene, root: Path) -> Iterator[Result]:
    """Measure the review and its changes, as the first page of a server and later."""
    found: dict[str, list[tuple[float, float]]] = {"cold": [], "again": []}
    for _ in range(scene.count(ROUNDS // 4)):
        with _serving(scene, root) as server:
            found["cold"].append(server.first_ms("/workers/large"))
            found["again"] += [server.first_ms("/workers/large") for _ in range(4)]
    limits = {"cold": COLD_MS, "again": CACHED_MS}
    words = {"cold": "the first page of a server", "again": "read again"}
    for name, times in found.items():
        sample, lines = (Sample(one) for one in zip(*times, strict=True))
        yield Result(
            f"first byte of a review of {FILES * LINES:,} lines, {words[name]}",
            f"≤ {limits[name]} ms", sample.median <= limits[name],
            f"{sample.median:.1f} ms; first changed line {lines.median:.0f} ms",
            shown(sample), our_command="GET /workers/large",
        )  # fmt: skip


def _measure_keys(server: _Server) -> Result:
    """Measure the time from the key of a viewed mark to its result on the page.

    Each time includes the frame that shows it. The time to the server's answer is named, too.
    """
    name = "from a key to its visible result in a review of 5,000 lines"
    limit = f"95 % ≤ {KEY_MS} ms"
    chromium = shutil.which("chromium")
    if chromium is None or not SITE.is_dir():
        return not_measured(name, limit, "no chromium, or no `make browser-env`")
    sys.path.insert(0, str(SITE))
    with import_module("playwright.sync_api").sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
        tab = browser.new_page()
        host, _, cookie = f"http://127.0.0.1:{server.port}", "", server.cookie.partition("=")
        tab.context.add_cookies([{"name": cookie[0], "value": cookie[2], "url": host}])
        tab.goto(f"{host}/workers/large")
        tab.wait_for_selector("[id^=hunk-]")
        tab.evaluate(WATCH)
        for number in range(KEYS):
            tab.focus(f"[id^=hunk-] >> nth={number % FILES}")
            tab.keyboard.press("v")
            while (
                tab.evaluate("answered.length") <= number
            ):  # the page's policy forbids to wait inside
                tab.wait_for_timeout(20)
        times, answers = (Sample(tuple(tab.evaluate(name))) for name in ("took", "answered"))
        browser.close()
    most, answer = (percentile(one.times, 95) for one in (times, answers))
    return Result(
        name, limit, most <= KEY_MS, f"95 % {most:.0f} ms; 95 % answered {answer:.0f} ms",
        shown(times),
        our_command="the key v in chromium",
    )  # fmt: skip


def _measure_idle(server: _Server) -> Result:
    """Measure the share of a processor and the memory of a server without requests."""
    for path in ("/", "/inbox", "/workers/large", "/queue"):
        server.first_ms(path)
    before_s, started = used_s(server.pid), time.perf_counter()
    time.sleep(IDLE_S)
    share = 100 * (used_s(server.pid) - before_s) / (time.perf_counter() - started)
    mib = resident_mib(server.pid)
    return Result(
        f"`web` with {WORKERS} workers: processor while idle, and memory after four pages",
        f"< {IDLE_PER_CENT:g} %, ≤ {MEMORY_MIB} MiB", share < IDLE_PER_CENT and mib <= MEMORY_MIB,
        f"{share:.2f} %, {mib:.0f} MiB", our_command="git-worker web --no-open",
    )  # fmt: skip
