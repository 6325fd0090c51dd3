"""A TPU cloud on one machine.

The real Cloud TPU, Cloud Storage and Pub/Sub REST shapes, metadata servers, and hosts that are
real process trees. It stands in for Google Cloud in the demo, in rehearsals and in tests, and
is therefore as unkind as the real thing; it must never be kinder to our own code than to
Google's clients.
"""
