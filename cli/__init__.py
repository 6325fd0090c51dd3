"""The command `tpuctl`: commands by noun, and the views that show what they read."""
