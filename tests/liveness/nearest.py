"""Print the pid of the nearest agent above; if given a pid, once it is no longer the parent."""

import os
import select
import sys

from gitworker.liveness.processes import find_calling_agent

if __name__ == "__main__":
    while sys.argv[1:] == [str(os.getppid())]:
        select.select([], [], [], 0.005)
    found = find_calling_agent()
    print(found.pid if found else f"none {os.getppid()}", flush=True)
