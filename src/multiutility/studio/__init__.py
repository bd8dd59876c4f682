"""The studio: a local page to label a little, train, look, and label where it helps."""
