"""Executors: pure functions in threads, or on a cluster."""

from multiutility.parallel.executor import Executor, Handle, in_order, parts, put_together
from multiutility.parallel.local import Threads

__all__ = ["Executor", "Handle", "Threads", "in_order", "parts", "put_together"]
