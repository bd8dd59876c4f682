"""Learning from examples that an executor keeps in shards, and the backends that hide where they are."""
