"""The plans that the scripted model plays with real agents."""

from fixtures.scripted_model.plans import Call, Failure, Held, Plans, Shell, Text, Write

LINE_WRITERS = ("claude", "codex", "opencode")  # of different makers
LIMIT_ENDS_AT = 1_900_000_000  # seconds UTC


def line_plan(name: str) -> tuple[Shell | Text, ...]:
    """Return a plan that adds a line to the file `lines` and, from the second run on, `NAME.ok`.

    It takes the lines of the others first, and so resolves the conflict with them.
    """
    return (
        Shell("git worker sync; git status --short"),
        Shell(f"git grep -q {name} HEAD -- lines && echo ok > {name}.ok; git status --short"),
        Shell(f"git show main:lines > lines && echo {name} >> lines && git add ."),
        Shell(f"git -c core.editor=true rebase --continue || git commit -m 'Add {name}'"),
        Text("I added my line."),
    )


PLANS: Plans = {
    "work": (
        Shell("echo hello > hello.txt"),
        Shell("git add hello.txt && git commit -m 'Add hello'"),
        Text("I added hello.txt."),
    ),
    "talk": (Text("I did nothing."),),
    # Qwen Code shortens a conversation only if that saves tokens.
    "long": (Text("That was long.", prompt_tokens=5000),),
    "see": (Shell("git status"), Text("I have seen it.")),
    "ask": (Shell("python3 -c 'print(1)'"), Text("I may.")),
    "ask-twice": (
        Shell("python3 -c 'print(1)'"), Shell("python3 -c 'print(2)'"), Text("I may."),
    ),
    "escalate": (
        Call("exec_command", {
            "cmd": "python3 -c 'print(1)'", "sandbox_permissions": "require_escalated",
            "justification": "It needs the network.",
        }),
        Text("I may."),
    ),
    "denied": (
        Shell("python3 -c 'open(\"../../../denied\", \"w\")'"),
        Text("I could not do it."),
    ),
    "look": (
        Shell(
            "env | grep GIT_CONFIG_GLOBAL; git config --show-scope --get-all core.hooksPath;"
            " git var GIT_AUTHOR_IDENT; command -v git-worker"
        ),
        Text("I looked."),
    ),
    "meet": (
        Shell("git worker send hq 'I begin'"),
        Shell("echo hello > hello.txt && git add hello.txt && git commit -m 'Add hello'"),
        Text("I reported and committed."),
    ),
    "hear": (
        Shell("git worker send auth --as hq 'Use tabs'"),
        Text("I use tabs."),
    ),
    "forget": (Shell("echo hello > hello.txt"), Text("I am done.")),
    "boxed": (
        Write("hello.txt", "hello\n"),
        Shell("git add -A && git commit -q -m Refused; true"),
        Call("whoami", {}),
        Call("commit", {"message": "Add hello"}),
        Call("done", {"note": "by a tool"}),
        Text("I handed in."),
    ),
    "search": (
        Call("tool_search", {"query": "select:mcp__gw__whoami"}),
        Call("whoami", {}),
        Text("I know."),
    ),
    "know": (Call("whoami", {}), Text("I know.")),
    "more": (
        Shell("echo again > again.txt && git add again.txt && git commit -m 'Add again'"),
        Text("I added again.txt."),
    ),
    "write": (Write("hello.txt", "hello\n"), Text("I added hello.txt.")),
    # mini-swe-agent ends at this command, not at a text.
    "submit": (
        Shell("echo hello > hello.txt"),
        Shell("git add hello.txt && git commit -m 'Add hello'"),
        Shell("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
    ),
    "wait": (
        Shell("git status"),
        Held(Shell("echo hello > hello.txt && git add hello.txt && git commit -m 'Add hello'")),
        Text("I added hello.txt."),
    ),
    **{f"line-{name}": line_plan(name) for name in LINE_WRITERS},
    "login": (Failure(401, "authentication_error", "invalid x-api-key"),),
    "busy": (
        Failure(429, "rate_limit_error", "Too many requests", (("x-should-retry", "false"),)),
    ),
    "limit": (
        Failure(
            429, "usage_limit_reached", "The usage limit has been reached",
            (
                ("x-should-retry", "false"), ("anthropic-ratelimit-unified-status", "rejected"),
                ("anthropic-ratelimit-unified-reset", str(LIMIT_ENDS_AT)),
            ),
            resets_at=LIMIT_ENDS_AT,
        ),
    ),
}  # fmt: skip
