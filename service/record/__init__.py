"""SHX/1, the record of a game: bytes, hashes, shuffle, chain, signatures, bundles; all pure."""
