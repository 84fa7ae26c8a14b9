"""The findings of doctor with their commands, and the effective settings with their origin."""

from __future__ import annotations

from gitworker.tui.rows.settings_rows import settings_rows
from gitworker.tui.view import Loaded, View


class SettingsView(View):
    """Doctor and settings; they are read again by Ctrl+R only, because the checks take time."""

    TITLE_TEXT = "Settings and doctor"
    STOPS_EVERYWHERE = True
    FOLLOWS = False

    def read(self, width: int) -> Loaded:
        """Return the findings and the settings."""
        service = self.room.service
        return Loaded(settings_rows(service.settings(), service.doctor(), width=width))
