"""From a snapshot to text: pure functions that can be tested without a terminal. Nothing here imports Textual, reads a clock or acts."""
