"""The demo: one training job undisturbed, one preempted twice, and whether they agree."""
