"""Labelings that learning from weak annotations begins with."""
