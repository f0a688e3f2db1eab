"""The version of this release, recorded in every game that it begins."""

VERSION = "0.1.0"
