"""The use cases: everything that people, bots and time can make happen."""
