"""The methods of the service for notifications of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from gitworker.notifications.send import Delivery
    from gitworker.notifications.show import NotificationList


class NotificationMethods(ServiceBase):
    """Targets and events; see `WorkMethods` for the imports."""

    def notifications(self) -> NotificationList:
        """Return the targets of notifications, and the events that were sent last."""
        from gitworker.notifications.show import read_notifications

        with self._reading() as session:
            return read_notifications(session)

    def test_notifications(self) -> list[Delivery]:
        """Send a test to every target; raise Unavailable if one does not get it."""
        from gitworker.notifications.send import send_test

        with self._acting() as session:
            return send_test(session)
