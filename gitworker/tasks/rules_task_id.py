"""The id of a task without one: a slug of its title or text, else two words. Pure."""

from collections.abc import Collection

from gitworker.bus.limits.rules_secrets import REDACTED, redacted
from gitworker.model.ids import LOWER, RESERVED, TaskId

LENGTH_MAX = 50
# Letters that Unicode does not decompose; case folding has made them lower-case.
SPELLED = {
    "æ": "ae",
    "ð": "d",
    "đ": "d",
    "ħ": "h",
    "ı": "i",
    "ł": "l",
    "ø": "o",
    "œ": "oe",
    "þ": "th",
}
APOSTROPHES = frozenset("'\u2018\u2019\u02bc")
ADJECTIVES = (
    "amber", "bold", "brave", "bright", "brisk", "calm", "clear", "clever", "cool", "crisp",
    "eager", "early", "fair", "fast", "fine", "fresh", "gentle", "golden", "grand", "green",
    "happy", "honest", "jolly", "keen", "kind", "light", "lively", "lucky", "mellow", "neat",
    "noble", "patient", "plain", "proud", "quick", "quiet", "rapid", "ready", "rich", "royal",
    "sharp", "silver", "smart", "smooth", "solid", "steady", "strong", "sunny", "swift", "tidy",
    "tiny", "vivid", "warm", "wise",
)  # fmt: skip
NOUNS = (
    "acorn", "anchor", "badger", "beacon", "birch", "bridge", "canyon", "cedar", "cliff", "cloud",
    "comet", "coral", "crane", "creek", "dune", "eagle", "ember", "falcon", "fern", "field",
    "finch", "forest", "fox", "garden", "harbor", "hawk", "heron", "hill", "island", "lake",
    "lantern", "maple", "meadow", "moon", "oak", "otter", "owl", "pebble", "pine", "planet",
    "rain", "reef", "river", "robin", "sparrow", "spruce", "stone", "stream", "tiger", "valley",
    "wave", "willow", "wind", "wolf",
)  # fmt: skip


def slug_of(title: str, text: str) -> str | None:
    """Return an id made of the title, or else of the text's first line with letters or digits.

    It has whole words of `a-z0-9`, joined by `-`, and at most 50 characters. Accents are dropped,
    and so is everything that looks like a secret: the id names a branch and a directory. Returns
    None if no Latin letter and no digit remains.
    """
    for line in (title, _first_line(text)):
        slug = _slug(redacted(line[: LENGTH_MAX * 20]).replace(REDACTED, " "))
        if slug:
            return slug
    return None


def two_words(number: int) -> str:
    """Return the adjective and the noun of a number, which may be of any size."""
    rest, noun = divmod(number, len(NOUNS))
    return f"{ADJECTIVES[rest % len(ADJECTIVES)]}-{NOUNS[noun]}"


def free_task_id(wanted: str, taken: Collection[str]) -> TaskId:
    """Return the wanted id, or the first of `wanted-2`, `wanted-3`… that is not taken.

    Letter case does not count: two worktrees can be neighbours on a file system that ignores it.
    """
    used = {name.lower() for name in taken} | RESERVED
    number, found = 1, wanted
    while found in used:
        number += 1
        suffix = f"-{number}"
        found = wanted[: LENGTH_MAX - len(suffix)].rstrip("-") + suffix
    return TaskId(found)


def _first_line(text: str) -> str:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start : min(end, start + LENGTH_MAX * 20)]
        if any(character.isalnum() for character in line):
            return line
        start = end + 1
    return ""


def _slug(line: str) -> str:
    slug = ""
    for word in _words(line):
        longer = f"{slug}-{word}" if slug else word[:LENGTH_MAX]
        if len(longer) > LENGTH_MAX:
            break
        slug = longer
    return slug


def _words(line: str) -> list[str]:
    from unicodedata import normalize  # 1 ms, only for a task without an id

    folded = "".join(SPELLED.get(one, one) for one in line.casefold())
    kept = (
        one if one in LOWER else " "
        for one in normalize("NFKD", folded)
        if not _is_mark(one) and one not in APOSTROPHES
    )  # fmt: skip
    return "".join(kept).split()


def _is_mark(character: str) -> bool:
    from unicodedata import combining

    return combining(character) != 0
