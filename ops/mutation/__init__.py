"""Mutation testing of the rules: python -m ops.mutation."""
