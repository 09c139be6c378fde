"""A selectively labeled table: its roles named and checked once; the way in for everything."""
