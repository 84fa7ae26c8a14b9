"""The page of `git worker web`: HTTP on loopback or a socket, above the service.

Only this room imports Starlette, uvicorn and Jinja2, which the extra `web` installs. The pages have
no logic of their own: each reads one or a few views of the service, each button is one call of it.
"""
