"""A reference client: plays over HTTP alone, signs, and believes nothing that it can check."""
