"""What is assumed of the real Cloud TPU, and how that is tried: docs/live-checklist.md."""
