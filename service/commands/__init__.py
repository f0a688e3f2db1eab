"""The commands of `shithead`, one a file; what is heavy is imported when a command needs it."""
