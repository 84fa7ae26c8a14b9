"""The keys of the screens: one table for the bindings, the help and the line of keys."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """A key by Textual's names, its action, the name that people read, and its effect.

    `short` is its word on the line of keys; empty if it is not shown there.
    """

    names: str
    action: str
    shown: str
    effect: str
    short: str = ""


EVERYWHERE = (
    Key("j", "move(1)", "j k", "next, previous item, hunk or comment"),
    Key("k", "move(-1)", "", ""),
    Key("down", "step(1)", "↓ ↑", "next, previous line"),
    Key("up", "step(-1)", "", ""),
    Key("pagedown,space", "page(1)", "PgDn PgUp", "next, previous screen"),
    Key("pageup", "page(-1)", "", ""),
    Key("home", "edge(-1)", "Home End", "first, last line"),
    Key("end", "edge(1)", "", ""),
    Key("left", "shift(-1)", "← →", "move long lines"),
    Key("right", "shift(1)", "", ""),
    Key("enter", "open", "Enter", "open the item", "open"),
    Key("g", "show('board')", "g i l", "board, inbox, queue", "board, inbox, queue"),
    Key("i", "show('inbox')", "", ""),
    Key("l", "show('queue')", "", ""),
    Key("T", "show('tasks')", "T A M S", "tasks, agents, messages, settings and doctor"),
    Key("A", "show('agents')", "", ""),
    Key("M", "show('messages')", "", ""),
    Key("S", "show('settings')", "", ""),
    Key("ctrl+r", "reload", "Ctrl+R", "read the screen again"),
    Key("ctrl+p", "app.command_palette", "Ctrl+P", "all commands, by their names"),
    Key("ctrl+z", "app.suspend_process", "Ctrl+Z", "back to the shell; fg continues"),
    Key("escape", "back", "Esc", "back; remove the notice"),
    Key("question_mark", "help", "?", "help", "help"),
    Key("q,ctrl+c", "quit", "q", "quit; Ctrl+C does the same", "quit"),
)
BOARD = (
    Key("slash", "filter", "/", "show only some workers: by words, project, agent", "filter"),
    Key("z", "old", "z", "show or hide old landings"),
)
INBOX = (
    Key("e", "answer", "e", "answer the question or the message", "answer"),
    Key("x", "acknowledge", "x", "mark the messages up to this one as read", "read"),
    Key("m", "land", "m", "land the approved work", "land"),
    Key("b", "begin", "b", "let the paused agent continue, or start it again", "start again"),
)
QUEUE = (
    Key("m", "land", "m", "land all approved work, or the worker under the cursor", "land"),
    Key("u", "undo", "u", "undo the operation under the cursor, or the newest", "undo"),
)
TASKS = (
    Key("slash", "filter", "/", "show only the tasks with some words", "filter"),
    Key("G", "graph", "G", "the graph of the dependencies as a tree, or the list", "graph"),
    Key("z", "old", "z", "show or hide the tasks that have ended", "ended"),
)
AGENTS = (
    Key("p", "pause", "p", "pause the agent, or let it continue", "pause, continue"),
    Key("X", "stop", "X", "stop the agent; its work stays", "stop"),
    Key("o", "log", "o", "the log of the agent", "log"),
)
REVIEW = (
    Key("n", "file(1)", "n p", "next, previous file"),
    Key("p", "file(-1)", "", ""),
    Key("shift+down", "extend(1)", "Shift+↓ ↑", "a range of lines"),
    Key("shift+up", "extend(-1)", "", ""),
    Key("w", "sides", "w", "old and new lines side by side, or in one column"),
    Key("c", "comment", "c", "comment on the lines, or change the draft", "comment"),
    Key("d", "drop", "d", "delete the draft"),
    Key("x", "resolve", "x", "resolve the comment"),
    Key("X", "reopen", "X", "reopen the comment, with a reply"),
    Key("v", "viewed", "v", "mark the hunk or the file as viewed, or clear the mark", "viewed"),
    Key("a", "approve", "a", "approve the commit on the screen, and send the drafts", "approve"),
    Key("N", "next_review", "N", "the next review: the work that waits longest", "next"),
    Key("r", "review", "r", "write the review: request changes, or comment only", "request"),
    Key("m", "land", "m", "land, after an approval if that is open", "land"),
    Key("u", "undo", "u", "undo the newest operation on the worker", "undo"),
    Key("s", "since", "s", "the changes since your last look"),
    Key("R", "rounds", "R", "the changes between any two rounds"),
    Key("o", "log", "o", "the log of the agent", "log"),
    Key("t", "talk", "t", "the conversation; e writes a message", "talk"),
)
TALK = (Key("e", "answer", "e", "write a message to the worker", "write"),)
MESSAGES = (Key("slash", "search", "/", "search the messages for words", "search"),)
TABLES = (
    ("Everywhere", EVERYWHERE), ("Board", BOARD), ("Inbox", INBOX), ("Queue", QUEUE),
    ("Tasks", TASKS), ("Agents", AGENTS), ("Review", REVIEW), ("Messages", MESSAGES),
    ("Conversation", TALK),
)  # fmt: skip
WRITING = (
    ("Ctrl+S", "save, or send"), ("Ctrl+T", "send a review as comments only"),
    ("Esc", "leave; the text is kept until you quit"),
)  # fmt: skip
