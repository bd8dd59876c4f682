"""Dense features of networks: their maps, weights and architecture."""
