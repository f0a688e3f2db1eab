"""The commands of `shithead`, one a file; heavy imports wait until a command runs."""
