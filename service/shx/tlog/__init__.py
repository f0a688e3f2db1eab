"""
Formats of the public log, a transparency log after the specifications of C2SP.

In the order in which to read: `tree` (Merkle trees and proofs), `notes` (signed text),
`checkpoint` (signed heads, cosignatures) and `tiles` (a tree in files).
"""
