"""Regions of an image: superpixels, their borders, and borders moved to where colors change."""
