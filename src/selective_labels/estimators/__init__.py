"""Classifiers: the base that reads tables and roles, our learners, and what people do today."""
