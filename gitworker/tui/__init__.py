"""The control room of `git worker ui`: screens in the terminal, above the service.

Only this room imports Textual, which the extra `ui` installs. The screens have no logic of their
own: each reads one or a few views of the service, each key is one call of it.
"""
