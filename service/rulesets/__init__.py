"""Rulesets: a TOML file each, with base, settings, options and statements."""
