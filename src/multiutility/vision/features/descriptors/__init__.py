"""Descriptors of regions and borders, one kind a file."""
