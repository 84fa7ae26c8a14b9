"""The methods of the service for questions of workers to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gitworker.questions.question_list import QuestionList
    from gitworker.questions.reply import Replied
    from gitworker.states.question import Question


class QuestionMethods(ServiceBase):
    """Ask, answer and list; see `WorkMethods` for the imports."""

    def ask(
        self,
        text: str,
        *,
        options: Sequence[str] = (),
        timeout_s: float | None = None,
        wait_s: float | None = None,
        check: Callable[[], object] = lambda: None,
        hand_over: Callable[[Question], object] = lambda question: None,
    ) -> Question:
        """Ask a person as the caller's worker, wait, and return the question with its answer.

        After `timeout_s` seconds the task is paused; after `wait_s` only this call ends, and the
        same words wait again. Both raise Conflict (`timeout`). `check` is called every two seconds
        and may raise. The answer counts as read once `hand_over` has returned.
        """
        from gitworker import clock
        from gitworker.questions.ask import ask
        from gitworker.store.attention.questions import set_delivered

        with self._acting() as session:
            question = ask(
                session,
                self._without_secrets(text),
                options=[self._without_secrets(option) for option in options],
                timeout_s=timeout_s,
                wait_s=wait_s,
                check=check,
            )
            hand_over(question)
            with session.store.write() as writer:
                set_delivered(writer, question.id, now=clock.now_ms())
            return question

    def reply(self, name: str, answer: str, *, number: int | None = None) -> Replied:
        """Answer the open question of a task or worker; `number` names one of several.

        Raises Refused without an open question, and for an answer that is not an option.
        """
        from gitworker.questions.reply import reply

        with self._acting() as session:
            return reply(session, name, self._without_secrets(answer), number=number)

    def questions(self) -> QuestionList:
        """Return the questions that wait for an answer, oldest first."""
        from gitworker.questions.question_list import read_questions

        with self._reading() as session:
            return read_questions(session)
