"""The search for parameters by cross-validation, and its page."""
