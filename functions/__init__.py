"""The deployed functions, one file each; thin: decode, call the use case, answer."""
