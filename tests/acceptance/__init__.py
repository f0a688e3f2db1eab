"""A package, because pytest ends fixtures of scope `package` with a package only."""
