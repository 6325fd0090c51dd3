"""What stands in for Google where there is none: beside the emulators, on one machine."""
