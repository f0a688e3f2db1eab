"""
Mutated records and bundles, on which the two verifiers must agree.

A mutation need not make a fault, and may make several. So a case has no declared verdict: it is
compared only. The cases of the conformance corpus have one fault each, with its verdict.
"""
