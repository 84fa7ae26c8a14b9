"""The client of the Agent Client Protocol (ACP): it runs as an agent's process under `exec`.

It starts the agent that speaks the protocol, sends the prompt, answers permission requests by
policy, and writes events as JSON lines, which the adapter's dialect turns into text. The library
`agent-client-protocol` is an extra; only this room imports it.
"""
