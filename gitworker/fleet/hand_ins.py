"""Make the hand-ins that were put off while the fleet could not be reached."""

from gitworker import clock
from gitworker.bus.publish import log_message, publish
from gitworker.errors import OUT_OF_REACH, GitWorkerError
from gitworker.session import Session
from gitworker.store.fleet.machines import PutOffHandIn, forget_hand_in, put_off_hand_ins
from gitworker.workers.submit import Submission, submit


def make_hand_ins(session: Session) -> None:
    """Hand in what waits, as its workers; one that is refused is reported on the bus."""
    with session.store.read() as reader:
        waiting = put_off_hand_ins(reader)
    for one in waiting:
        try:
            done = submit(
                session._replace(actor=one.worker_id),
                one.worker_id,
                Submission(one.note, None, one.pr_url),
            )
            if done.is_put_off:
                return
        except GitWorkerError as error:
            if error.code in OUT_OF_REACH:
                return
            _report(session, one, error)
        forget_hand_in(session.store, one)


def _report(session: Session, one: PutOffHandIn, error: GitWorkerError) -> None:
    text = f"the hand-in was refused: {error.message}"
    with session.store.write() as writer:
        publish(
            writer,
            log_message(one.worker_id, one.task_id, "hand_in_refused", text, level="error"),
            now=clock.now_ms(),
        )
