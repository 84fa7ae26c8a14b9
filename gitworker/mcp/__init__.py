"""The MCP server: tools for one worker, or for an agent that directs workers, over stdio.

The protocol is written by hand, because an SDK costs 65 MB and a second for each process. The tools
call the service and hold no logic of their own. A client's process is outside its agent's sandbox,
and so is this server.
"""
