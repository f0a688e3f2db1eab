"""The sequencer: the one that lets the public log grow, signs its heads and asks for witnesses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from service.public_log.signed import Forgetful, Signed
from service.public_log.store import Batch, Head, Leaf, LogMoved, LogStore, SignedHead, Waiting
from service.public_log.witnesses import (
    RemoteWitness,
    SeenMore,
    Unheard,
    WitnessRefused,
    ask_witness,
)
from service.record.canonical import RecordError
from service.record.checkpoint import Checkpoint, sign_checkpoint
from service.record.notes import NoteSigner, parse_note, signature_line
from service.record.receipts import receipt_body
from service.record.tiles import TiledTree, grow, read_edge
from service.record.tree import leaf_hash

BATCH: Final = 500
BETWEEN: Final = timedelta(seconds=60)
"""A running game gets a leaf at most this often, beside those of its setting-up and its seal."""

Step = Callable[[str], None]


class LogBroken(Exception):
    """The rows do not make the tree that was signed: nothing is signed until somebody looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """How many leaves are still without a signature, and without which witness's."""

    unsigned: int  # leaves that no checkpoint has
    uncosigned: Mapping[str, int]  # by witness: leaves of the newest checkpoint


class Sequencer:
    """
    Appends, then signs, then asks witnesses; stopped anywhere, the next round goes on.

    Any number may run at once: a batch goes in only on the tree it was made for, so
    there is one tree; and two who sign the same tree with the same key write the
    same bytes. What is signed was read from the database after its commit.
    """

    def __init__(
        self,
        *,
        store: LogStore,
        origin: str,
        signers: Callable[[datetime], Sequence[NoteSigner]],
        now: Callable[[], datetime],
        witnesses: Sequence[RemoteWitness] = (),
        signed: Signed | None = None,
        step: Step = lambda _name: None,
    ) -> None:
        self._store = store
        self._origin = origin
        self._signers = signers
        self._now = now
        self._witnesses = witnesses
        self._memory = signed or Forgetful()
        self._step = step

    def run_once(self) -> int:
        """Do one round and return how many leaves were added; raises what the store raises."""
        added = self.append()
        self.publish()
        return added

    def append(self) -> int:
        """Add a batch of what waits; return how many leaves it had."""
        now = self._now()
        head = self._store.head()
        waiting = self._store.waiting(limit=BATCH, last_leaf_before=now - BETWEEN)
        self._step("read")
        if not waiting:
            return 0
        batch = self._batch(head, waiting, now)
        self._step("built")
        try:
            self._store.append(batch)
        except LogMoved:
            return 0
        self._step("appended")
        return len(batch.leaves)

    def publish(self) -> bool:
        """Sign the newest head where that is still to be done; return whether it was."""
        # In this order: another sequencer may sign a newer head between two of the looks.
        remembered = self._remembered()
        published = self._store.published()
        head = self._store.head()
        signers = self._signers(self._now())
        note = self._signed(head, signers)
        if note == head.note:
            return False
        self._check(head, published)
        self._check_memory(head, remembered)
        self._step("checked")
        try:
            self._memory.keep(note)
        except OSError as error:
            raise LogBroken(f"what is to be signed cannot be remembered: {error}") from None
        self._store.sign(head.size, note)
        self._step("signed")
        return True

    def confirm(self) -> None:
        """
        Ask the witnesses, before anything is signed, whether they have seen more than is here.

        Raises LogBroken where one has: the database is older than what was published.
        One that does not answer is not waited for.
        """
        published = self._store.published()
        if published is None or published.size == 0:
            return
        tree = TiledTree(published.size, self._store.hashes)
        for witness in self._witnesses:
            try:
                ask_witness(witness, published.note, tree, published.size)
            except WitnessRefused as reason:
                if not self._overtaken(reason):
                    raise LogBroken(f"{witness.verifier.name}: {reason}") from None
            except Unheard:
                continue

    def behind(self) -> Behind:
        """Return how far signatures lag behind the leaves, as anybody who looks may ask."""
        head, published = self._store.head(), self._store.published()
        signed = 0 if published is None else published.size
        uncosigned = {
            witness.verifier.name: max(
                0, signed - self._store.cosigned_size(str(witness.verifier))
            )
            for witness in self._witnesses
        }
        return Behind(unsigned=head.size - signed, uncosigned=uncosigned)

    def ask_witnesses(self) -> list[tuple[RemoteWitness, Unheard]]:
        """
        Ask each witness for its cosignature under the newest checkpoint.

        Best effort: return those that gave none, each with the reason. An empty tree
        has nothing to witness.
        """
        published = self._store.published()
        if published is None or published.size == 0:
            return []
        unheard = []
        tree = TiledTree(published.size, self._store.hashes)
        for witness in self._witnesses:
            name = str(witness.verifier)
            known = self._store.cosigned_size(name)
            if known >= published.size:
                continue
            try:
                line = ask_witness(witness, published.note, tree, known)
            except Unheard as reason:
                if not self._overtaken(reason):
                    unheard.append((witness, reason))
                continue
            self._step("cosigned")
            self._store.keep_cosignature(published.size, name, line)
        return unheard

    def _overtaken(self, reason: Unheard) -> bool:
        """Return whether a witness saw more because another sequencer has published it since."""
        published = self._store.published()
        return (
            isinstance(reason, SeenMore)
            and published is not None
            and reason.size <= published.size
        )

    def _batch(self, head: Head, waiting: Sequence[Waiting], now: datetime) -> Batch:
        leaves: list[Leaf] = []
        for one in waiting:
            if one.known or one.head is None:
                continue
            data = receipt_body(self._origin, one.game, one.version - 1, one.head).encode()
            index = head.size + len(leaves)
            leaves.append(Leaf(index=index, game=one.game, version=one.version, data=data))
        edge = read_edge(head.size, self._store.hashes)
        if edge.root != head.root:
            raise LogBroken(f"the tiles do not make the tree of {head.size} leaves")
        grown, added = grow(edge, [leaf_hash(leaf.data) for leaf in leaves])
        return Batch(
            size=head.size,
            leaves=tuple(leaves),
            hashes=tuple(one for one in added if one[0] > 0),
            root=grown.root,
            done=tuple((one.game, one.version) for one in waiting if one.asked),
            at=now,
        )

    def _check(self, head: Head, published: SignedHead | None) -> None:
        """Raise unless the tiles make this tree and, as its beginning, the one signed before."""
        tree = TiledTree(head.size, self._store.hashes)
        if tree.root() != head.root:
            raise LogBroken(f"the tiles do not make the tree of {head.size} leaves")
        if published is not None and tree.root(published.size) != published.root:
            raise LogBroken(f"the tree of {published.size} leaves that was signed is not there")

    def _remembered(self) -> Checkpoint | None:
        try:
            return self._memory.last()
        except (OSError, RecordError) as error:
            raise LogBroken(f"what was signed last cannot be read: {error}") from None

    def _check_memory(self, head: Head, last: Checkpoint | None) -> None:
        """Raise unless this tree goes on from the last one signed, whatever the database says."""
        if last is None:
            return
        if last.size > head.size:
            raise LogBroken(
                f"a tree of {last.size} leaves was signed here, and the database has {head.size}: "
                "it is older, as after a restore"
            )
        if TiledTree(head.size, self._store.hashes).root(last.size) != last.root:
            raise LogBroken(f"the tree of {last.size} leaves that was signed here is another")

    def _signed(self, head: Head, signers: Sequence[NoteSigner]) -> bytes:
        """
        Return the note with a signature of each signer, those that it has already kept.

        Keeping them lets processes with older and newer keys run at once, as they do
        while a rotation is rolled out.
        """
        checkpoint = Checkpoint(origin=self._origin, size=head.size, root=head.root)
        if head.note is None:
            return sign_checkpoint(checkpoint, signers)
        there = {(line.name, line.key_id) for line in parse_note(head.note).signatures}
        missing = [s for s in signers if (s.name, s.verifier.key_id) not in there]
        return head.note + "".join(_line(signer, checkpoint) for signer in missing).encode()


def _line(signer: NoteSigner, checkpoint: Checkpoint) -> str:
    signature = signer.key.sign(checkpoint.body.encode())
    return signature_line(signer.name, signer.verifier.key_id, signature)
