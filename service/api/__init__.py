"""The REST interface and the pages: one blueprint a file."""
