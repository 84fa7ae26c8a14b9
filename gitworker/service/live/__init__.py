"""Views of the service that continue: each is a generator of typed frames."""
