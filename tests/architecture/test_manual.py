"""The manual pages: one for each command, without roff's warnings, and 80 columns wide."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from docs.manual import build, render_pages
from gitworker.cli.command_list import SUBCOMMANDS
from tests.architecture.house import ROOT
from tests.cli.test_help import ENTRIES

COMMANDS = (ROOT / "docs" / "commands.md").read_text("utf-8")
PAGES = render_pages(COMMANDS, "1.2.3")
OVERSTRUCK = re.compile(".\b|\x1b\\[[0-9;]*m")


def render(text: str) -> str:
    """Return a page as a terminal of 80 columns shows it; fail with roff's warnings."""
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-rLL=80n", "-rLT=80n"],
        input=text, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""
    return OVERSTRUCK.sub("", done.stdout)


def test_every_command_has_a_page() -> None:
    """git-worker(1) and one page for each command are made of the command reference."""
    names = {words.replace(" ", "-") for words in (*ENTRIES, *SUBCOMMANDS)}
    pages = {f"git-worker-{name}.1" for name in names}
    assert set(PAGES) == {"git-worker.1", *pages, *(f"gitworker-{name}.1" for name in names)}
    assert PAGES["gitworker-msg-send.1"] == ".so man1/git-worker-msg-send.1\n"


@pytest.mark.parametrize("page", sorted(page for page in PAGES if page.startswith("git-")))
def test_pages_fit_80_columns(page: str) -> None:
    """No line of a page is wider than 80 columns."""
    assert [line for line in render(PAGES[page]).splitlines() if len(line) > 80] == []


def test_the_page_of_a_command() -> None:
    """A page has the parts of a manual page, and the text of the command's help."""
    page = render(PAGES["git-worker-claim-take.1"])
    headings = [line for line in page.splitlines() if line and line[0] != " "][1:-1]
    assert headings == ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SEE ALSO"]
    lines = page.splitlines()
    assert "       git-worker-claim-take - take a claim and print its epoch" in lines
    assert any(line.startswith("       git worker claim take [OPTIONS]") for line in lines)
    assert "GIT-WORKER-CLAIM-TAKE(1)" in lines[0]
    assert "1.2.3" in lines[-1]
    assert "       --json Print one JSON document." in lines
    assert any(line.startswith("         epoch=$(git worker claim take") for line in lines), page


def test_the_main_page() -> None:
    """git-worker(1) lists the pages of all commands, the verbs of every day first."""
    page = render(PAGES["git-worker.1"])
    assert page.index("Every day") < page.index("git-worker-spawn(1)") < page.index("Set up")
    assert page.index("COMMANDS") < page.index("Every day")
    assert "EXIT STATUS" in page
    linked = re.findall(r"(git-worker-[a-z-]+)\(1\)", page)
    assert {f"{name}.1" for name in linked} <= set(PAGES)
    assert "git-worktree(1), git-rebase(1)" in page


def test_the_page_of_a_group() -> None:
    """The page of a group lists its commands, and the page of a command its other names."""
    assert "COMMANDS\n       git-worker-claim-take(1)\n" in render(PAGES["git-worker-claim.1"])
    assert "OTHER NAMES\n       submit\n" in render(PAGES["git-worker-done.1"])


def test_text_is_copied_as_it_is() -> None:
    """Quotes, hyphens, backslashes and lines that begin with a dot are those of the help."""
    example = ".hidden 'a' \"b\" `c` \\d ^e ~f … --g"
    help_text = f"Usage: git worker [OPTIONS]\n\n  Do it.\n\n    {example}\n"
    (page,) = render_pages(f"```text\n{help_text}```\n", "1").values()
    assert f"         {example}\n" in render(page)


def test_build(tmp_path: Path) -> None:
    """The build writes every page and places it where man looks for it."""
    placed = build(ROOT, tmp_path / "man", "1.2.3")
    assert sorted(placed.values()) == sorted(f"share/man/man1/{name}" for name in PAGES)
    assert all(Path(path).read_text("utf-8") == PAGES[Path(path).name] for path in placed)
