"""The statuses and records of a project and its repositories, as the task model defines them."""

from dataclasses import dataclass
from enum import StrEnum


class ProjectStatus(StrEnum):
    """Whether a project takes part in scheduling."""

    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    ARCHIVED = "ARCHIVED"


class RepoSourceType(StrEnum):
    """How a project gets its repository."""

    CLONE = "CLONE"
    LINK = "LINK"
    INIT = "INIT"


@dataclass(frozen=True, slots=True)
class RepoConfig:
    """One repository of a project; `source_path` counts for LINK, `url` for CLONE."""

    id: str
    project_id: str
    source_type: RepoSourceType = RepoSourceType.CLONE
    url: str = ""
    source_path: str = ""
    default_branch: str = "main"
    checkout_base_path: str = ""


@dataclass(frozen=True, slots=True)
class Project:
    """One project with its scheduling weight, its limits and its token budget."""

    id: str
    name: str
    credit_weight: float = 1.0
    max_concurrent_agents: int = 2
    status: ProjectStatus = ProjectStatus.ACTIVE
    total_tokens_used: int = 0
    budget_limit: int | None = None
    discord_channel_id: str | None = None
