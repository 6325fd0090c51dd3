"""The use cases: load, decide, commit, perform."""
