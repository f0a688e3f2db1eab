"""The version of this release; it stands in every game that this release begins."""

VERSION = "0.1.0"
