"""SHX/1, the verifiable record of a game: bytes, hashes, chain, signatures, bundles."""
