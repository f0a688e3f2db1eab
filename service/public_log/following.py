"""A witness that goes and looks for itself, besides being asked."""

from __future__ import annotations

from service.public_log.log_client import LogClient, NotThere, Unreachable
from service.public_log.witness import Answer, Seen, Witness
from service.public_log.witnesses import write_request
from service.record.canonical import RecordError
from service.record.checkpoint import Checkpoint, parse_checkpoint
from service.record.notes import parse_note
from service.record.tiles import TiledTree


def follow(client: LogClient, witness: Witness) -> tuple[bytes, Answer]:
    """
    Return the log's newest checkpoint, and what the witness answers to it.

    The proof is made from the log's own tiles; the witness checks it like anybody's.
    Raises Unreachable where log or tiles cannot be read.
    """
    note = client.checkpoint()
    try:
        checkpoint = parse_checkpoint(parse_note(note).text)
        seen = witness.seen(checkpoint.origin)
        if checkpoint.size < seen.size:
            return note, witness.older(note, begins=_begins(client, checkpoint, seen))
        proof = TiledTree(checkpoint.size, client.hashes).consistency_proof(seen.size)
    except RecordError as error:
        raise Unreachable(f"the log cannot be read: {error.detail}") from None
    return note, witness.add_checkpoint(write_request(seen.size, proof, note))


def _begins(client: LogClient, checkpoint: Checkpoint, seen: Seen) -> bool:
    """Return whether the log still shows the tree seen, and an older one is its beginning."""
    tree = TiledTree(seen.size, client.hashes)
    try:
        return tree.root() == seen.root and tree.root(checkpoint.size) == checkpoint.root
    except NotThere:
        return False  # tiles of what it signed are gone: it was set back
