"""A reference client: plays over HTTP, signs its moves, and verifies what the server returns."""
