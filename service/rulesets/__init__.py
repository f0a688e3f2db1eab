"""Rulesets: TOML files with base, settings, options and statements, and their readers."""
