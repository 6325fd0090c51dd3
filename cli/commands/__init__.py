"""The commands of `tpuctl`, one file a noun."""
