"""Rules of the landing queue: order, size of a window, its line in the reflog. Pure.

A window is a list of workers replayed one on top of another.
"""

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

MS_A_POINT = 60_000  # a minute of waiting counts as much as one point of priority
PENALTY = 10  # points of priority for each time that the work was sent back since it was assigned
NAMED_AT_MOST = 40  # workers named in one line of the reflog
LARGEST = 4  # a window grows to at most this many times its setting


class Candidate(NamedTuple):
    """An approved worker that wants to land.

    A lower `priority` comes first; `after` are the tasks that land before this one.
    """

    worker_id: str
    task_id: str
    priority: int
    approved_at_ms: int
    failures: int = 0
    after: frozenset[str] = frozenset()


def score(candidate: Candidate, now_ms: int) -> float:
    """Return the queue's sort key, smallest first: priority plus penalties minus waiting time."""
    waited_ms = max(0, now_ms - candidate.approved_at_ms)
    return candidate.priority + PENALTY * candidate.failures - waited_ms / MS_A_POINT


def order(candidates: Collection[Candidate], now_ms: int) -> list[Candidate]:
    """Return the candidates in landing order: by score, but each after its dependencies.

    Candidates that wait for each other come last, by score.
    """
    by_task = {one.task_id: one for one in candidates}
    waits = {one.task_id: {t for t in one.after if t in by_task} for one in candidates}
    followers: dict[str, list[str]] = {}
    for task, before in waits.items():
        for earlier in before:
            followers.setdefault(earlier, []).append(task)

    def ranked(task: str) -> tuple[float, int, str]:
        one = by_task[task]
        return (score(one, now_ms), one.approved_at_ms, one.worker_id)

    ready = [(*ranked(task), task) for task, before in waits.items() if not before]
    heapq.heapify(ready)
    placed = []
    while ready:
        *_, task = heapq.heappop(ready)
        placed.append(task)
        for follower in followers.get(task, ()):
            waits[follower].discard(task)
            if not waits[follower]:
                heapq.heappush(ready, (*ranked(follower), follower))
    circling = sorted(by_task.keys() - set(placed), key=ranked)
    return [by_task[task] for task in (*placed, *circling)]


def parents_first(names: Iterable[str], parents: Mapping[str, str]) -> list[str]:
    """Return names in their order, but each after its parent if that is one of them."""
    left = dict.fromkeys(names)
    placed: list[str] = []
    while left:
        name = next(iter(left))
        chain = [name]
        while (parent := parents.get(chain[-1])) in left and parent not in chain:
            chain.append(parent)
        for one in reversed(chain):
            placed.append(one)
            del left[one]
    return placed


def next_size(setting: int, *, last: int | None, was_full: bool = True, passed: bool = True) -> int:
    """Return the maximum size of the next window.

    `last` is the size of the last window, None without one. A full window that passed adds one, a
    window that failed halves it; with a setting of one every worker lands alone.
    """
    if last is None or setting == 1:
        return setting
    if not passed:
        return max(1, last // 2)
    return min(last + (1 if was_full else 0), LARGEST * setting)


def landing_reason(landing: Sequence[tuple[str, str]]) -> str:
    """Return the target's reflog line for a window of workers and their tasks.

    It names at most 40 workers: git gets the line in an environment variable of limited length.
    """
    names = ", ".join(f"{worker}: {task}" for worker, task in landing[:NAMED_AT_MOST])
    more = len(landing) - NAMED_AT_MOST
    return f"git worker merge {names}{f' and {more} more' if more > 0 else ''}"
