"""What to believe of weak annotations, and how much: chosen by evidence, for the data at hand."""
