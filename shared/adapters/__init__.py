"""The ports on real services, one file a service."""
