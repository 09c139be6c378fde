"""What really produced the published numbers, choice by choice. Nothing here is used by the library."""
