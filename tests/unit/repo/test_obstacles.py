"""The words about files that are in the way of a move."""

import pytest

from gitworker.errors import Refused
from gitworker.repo.checkout.obstacles import refuse_overlap


@pytest.mark.parametrize("kind", ["dirty", "untracked"])
@pytest.mark.parametrize("number", [1, 5, 6])
def test_each_file_is_named_once(kind: str, number: int) -> None:
    """A file is named in the message or, if there are many, in the list below it."""
    files = [f"file{one}" for one in range(number)]
    given = {"dirty": [], "untracked": [], kind: files}
    with pytest.raises(Refused) as caught:
        refuse_overlap("/place", coming="the changes", **given)
    named = caught.value.message.count("file") - (kind == "untracked")
    assert named == min(number, 5)
    assert caught.value.detail == ("\n".join(files) if number > 5 else "")
