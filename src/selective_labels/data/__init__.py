"""Tables with selectively labeled outcomes: column roles, checks, and access in memory or by partition."""
