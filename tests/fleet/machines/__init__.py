"""Several machines on one computer: namespaces of the kernel, one PostgreSQL, one git remote."""
