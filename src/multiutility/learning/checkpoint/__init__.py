"""Fits that can be interrupted: a journal of their steps, and the file that keeps it."""
