"""The catalogue: one TOML file a ruleset, with its base, settings, options and statements."""
