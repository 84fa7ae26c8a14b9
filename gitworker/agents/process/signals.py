"""The signals that a supervisor waits for."""

import signal

from gitworker.processes.signal_pipe import SignalPipe, noted

ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})
PASSED_ON = ENDING | {signal.SIGUSR1, signal.SIGUSR2}
SUSPENDING = signal.SIGTSTP
HEARD = (*sorted(PASSED_ON), SUSPENDING, signal.SIGWINCH, signal.SIGCHLD)


class Signals(SignalPipe):
    """Collect signals from now until `release`; one that the caller ignores stays ignored."""

    def __init__(self) -> None:
        super().__init__(
            {
                number: noted
                for number in HEARD
                if number == signal.SIGCHLD or signal.getsignal(number) != signal.SIG_IGN
            }
        )
