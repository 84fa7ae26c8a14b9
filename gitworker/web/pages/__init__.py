"""The pages: each is a function from a request to the values of its template."""
