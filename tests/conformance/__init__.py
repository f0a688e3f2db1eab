"""The conformance corpus: small honest and faulty inputs of a verifier, with their verdicts."""
