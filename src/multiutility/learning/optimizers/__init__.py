"""Optimizers of a sum of hinges, of which they see no more than ``Risk``."""
