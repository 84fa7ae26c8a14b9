"""Random edits in a real repository: marks stay on unchanged hunks, comments follow their lines."""

import random
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from fixtures.repos import Repo
from gitworker.model.ids import Oid
from gitworker.repo.plumbing.git import Git
from gitworker.review.comments.rules_anchor import follow
from gitworker.review.comments.rules_place import Lines
from gitworker.review.patch import read_patch
from tests.unit.review.edits import Edit, changed, scale

FILES = 200  # each is a case of its own
Version = dict[str, list[str]]


def steps(chance: random.Random, words: list[str]) -> list[Edit]:
    """Return a few random edits of a file."""
    found = []
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        added = tuple(chance.choices(words, k=chance.randint(0, 3)))
        found.append(Edit(chance.random(), chance.randint(0, 3), added))
    if found and chance.random() < 0.5:  # the same change at another place
        found.append(found[-1]._replace(at=chance.random()))
    return found


def committed(repo: Repo, version: Version, parent: str | None) -> Oid:
    """Commit the files on a parent."""
    if parent is not None:
        repo.git("checkout", "-q", "--detach", parent)
    repo.write({name: "".join(f"{line}\n" for line in lines) for name, lines in version.items()})
    repo.git("add", "-A")
    repo.git("commit", "-q", "--allow-empty", "-m", "Edit")
    return Oid(repo.git("rev-parse", "HEAD"))


def hunks_of(repo: Repo, old: str, new: str) -> dict[str, list[str]]:
    """Return the bodies of all hunks by path, as they stand in the text of `git diff`."""
    text = repo.git("diff", "--no-color", "--no-indent-heuristic", "--no-renames", old, new)
    found: dict[str, list[str]] = {}
    for section in f"\n{text}".split("\ndiff --git ")[1:]:
        path = section.split(" ", 1)[0].removeprefix("a/")
        found[path] = [part.split("\n", 1)[1].rstrip("\n") for part in section.split("\n@@ ")[1:]]
    return found


class Rounds(NamedTuple):
    """Two rounds of an author: the base and the tip of each, and the files of the tips."""

    bases: tuple[Oid, Oid]
    tips: tuple[Oid, Oid]
    first: Version
    second: Version


def edited(repo: Repo, chance: random.Random) -> Rounds:
    """Edit files, and edit them again after others have edited the target."""
    distinct = {f"d{n}": [f"line {k}" for k in range(30)] for n in range(FILES // 2)}
    equal = {f"e{n}": [f"line {k % (1 + n % 5)}" for k in range(40)] for n in range(FILES // 2)}
    start = {**distinct, **equal}
    words = {"d": ["new"], "e": ["line 0", "other"]}
    others = {"d": ["by others"], "e": ["line 1", "line 2"]}
    later = {"d": ["later"], "e": ["line 1", "other"]}
    edits = {name: steps(chance, words[name[0]]) for name in start}
    first = {name: changed(lines, edits[name]) for name, lines in start.items()}
    target = {
        name: changed(lines, steps(chance, others[name[0]])) if chance.random() < 0.5 else lines
        for name, lines in start.items()
    }
    second = {}
    for name, lines in target.items():  # the author's edits again, and sometimes one more
        second[name] = changed(lines, edits[name])
        if chance.random() < 0.3:
            second[name] = changed(second[name], steps(chance, later[name[0]]))
    base1 = committed(repo, start, None)
    tip1 = committed(repo, first, base1)
    base2 = committed(repo, target, base1)
    return Rounds((base1, base2), (tip1, committed(repo, second, base2)), first, second)


@pytest.mark.parametrize("seed", range(scale(4)))
def test_marks_stay_on_unchanged_hunks(tmp_path: Path, seed: int) -> None:
    """A hunk keeps its id through a rebase exactly if git shows the same text again."""
    repo = Repo.make(tmp_path / "r")
    git = Git(str(tmp_path / "r"))
    rounds = edited(repo, random.Random(seed))
    one, two = (
        {file.path: file.hunks for file in read_patch(git, base, tip)}
        for base, tip in zip(rounds.bases, rounds.tips, strict=True)
    )
    texts = [hunks_of(repo, *pair) for pair in zip(rounds.bases, rounds.tips, strict=True)]
    kept = {hunk.id for hunks in one.values() for hunk in hunks}
    seen = 0
    for path, hunks in two.items():
        before, after = (Counter(found.get(path, [])) for found in texts)
        assert len(hunks) == after.total()
        for hunk, body in zip(hunks, texts[1][path], strict=True):
            assert (hunk.id in kept) == (before[body] == after[body]), (path, body)
            seen += hunk.id in kept
    assert 0 < seen < sum(map(len, two.values()))


@pytest.mark.parametrize("seed", range(scale(4)))
def test_comments_follow_their_lines(tmp_path: Path, seed: int) -> None:
    """A comment moves to the same text or is outdated, and never so if its lines are all there."""
    chance = random.Random(seed)
    rounds = edited(Repo.make(tmp_path / "r"), chance)
    files = read_patch(Git(str(tmp_path / "r")), *rounds.tips, context=0)
    found = 0
    for name, lines in rounds.first.items():
        if not lines:
            continue
        now_lines = rounds.second[name]
        at = chance.randint(1, len(lines))
        place = Lines(name, at, min(len(lines), at + chance.randint(0, 3)))
        quoted = lines[place.first - 1 : place.last]
        now = follow(place, files)
        if now is not None:
            assert now_lines[now.first - 1 : now.last] == quoted
        order = [line for line in now_lines if line in lines]
        is_distinct = len({*now_lines}) == len(now_lines)
        if is_distinct and order == [line for line in lines if line in order]:
            rest = [n for n, line in enumerate(now_lines) if line == quoted[0]]
            stays = bool(rest) and now_lines[rest[0] :][: len(quoted)] == quoted
            assert (now is not None) == stays, (name, place, now_lines)
        found += now is not None
    assert 0 < found < FILES
