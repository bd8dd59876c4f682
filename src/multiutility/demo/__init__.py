"""The demo on generated scenes, and its report."""
