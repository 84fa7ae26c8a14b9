"""The methods of the service for workstreams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.workstreams.show import WorkstreamList, WorkstreamView
    from gitworker.workstreams.validate import Validation


class WorkstreamMethods(ServiceBase):
    """Groups of tasks that end together; see `WorkMethods` for the imports."""

    def create_workstream(
        self,
        name: str,
        *,
        title: str = "",
        validation: Sequence[str] = (),
        has_branch: bool = False,
    ) -> WorkstreamView:
        """Create a workstream; its `validation` commands run once its tasks are complete.

        With `has_branch` its tasks land on `ws/<name>`, which lands on the target as a whole.
        """
        from gitworker.model.ids import parse_workstream_id
        from gitworker.workstreams.change import NewWorkstream, create
        from gitworker.workstreams.show import read_view

        new = NewWorkstream(parse_workstream_id(name), title, tuple(validation), has_branch)
        with self._acting() as session:
            create(session, new)
            return read_view(session, name)

    def add_to_workstream(self, name: str, tasks: Sequence[str]) -> WorkstreamView:
        """Put tasks that have not started into a workstream, all or none."""
        from gitworker.workstreams.change import add
        from gitworker.workstreams.show import read_view

        with self._acting() as session:
            add(session, name, tasks)
            return read_view(session, name)

    def list_workstreams(self, *, every: bool = True) -> WorkstreamList:
        """Return the workstreams, oldest first; without `every` those that are not archived."""
        from gitworker.workstreams.show import read_list

        with self._reading() as session:
            return read_list(session, every=every)

    def show_workstream(self, name: str) -> WorkstreamView:
        """Return one workstream with its tasks."""
        from gitworker.workstreams.show import read_view

        with self._reading() as session:
            return read_view(session, name)

    def validate_workstream(self, name: str) -> Validation:
        """Run the final validation of a workstream whose tasks are complete."""
        from gitworker.workstreams.validate import validate

        with self._acting() as session:
            return validate(session, name)

    def cancel_workstream(self, name: str) -> WorkstreamView:
        """End a workstream and cancel its tasks; their work is kept."""
        from gitworker.workstreams.change import cancel
        from gitworker.workstreams.show import read_view

        with self._acting() as session:
            cancel(session, name)
            return read_view(session, name)

    def archive_workstream(self, name: str) -> str:
        """Write the archive of an ended workstream again; return its path."""
        from gitworker.workstreams.change import archive

        with self._acting() as session:
            return archive(session, name)
