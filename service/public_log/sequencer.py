"""The sequencer: appends to the public log, signs its heads, collects cosignatures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

from service.keys import MAX_SIGNING
from service.public_log.log import (
    RESTORES,
    Batch,
    Head,
    Leaf,
    LogMoved,
    LogStore,
    SignedHead,
    WaitingGame,
)
from service.public_log.signed_checkpoints import (
    NoCheckpoints,
    SignedCheckpoints,
    WalPosition,
)
from service.public_log.witness_client import (
    LargerTreeSeen,
    NoCosignature,
    RemoteWitness,
    WitnessRefused,
    WitnessSetBack,
    ask_all,
    ask_witness,
)
from service.runtime.plain_errors import why
from service.shx.canonical import RecordError
from service.shx.receipts import receipt_body
from service.shx.restores import Restore, new_restore
from service.shx.tlog.checkpoint import (
    Checkpoint,
    open_checkpoint,
    parse_checkpoint,
    sign_checkpoint,
)
from service.shx.tlog.notes import NoteSigner, NoteVerifier, parse_note, signature_line
from service.shx.tlog.tiles import TiledTree, grow, read_edge
from service.shx.tlog.tree import leaf_hash, root


class ArchivedWal(Protocol):
    """The WAL of the database, and how much of it an archive outside of its disk holds."""

    @property
    def archive(self) -> str:
        """Return the name of the archive, as in the settings."""

    def position(self) -> str:
        """Return a position of the WAL that everything visible in the database is before."""

    def cluster(self) -> str:
        """Return the system identifier of the database, to which positions belong."""

    def holds(self, position: str) -> bool:
        """Return whether the archive holds the WAL up to a position."""


BATCH: Final = 500  # row limit of each part of the query log_waiting
LEAF_INTERVAL: Final = timedelta(seconds=60)
"""Shortest time between two leaves of a running game; leaves of set-up and seal do not wait."""

Step = Callable[[str], None]
"""Receives the name of each completed step, so that a test can stop there."""


class LogBroken(Exception):
    """The rows do not match the signed tree; signing stops until an operator acts."""


class NotSaved(Exception):
    """A checkpoint cannot be stored, as on a full disk; signing waits until it can."""


class QuorumMissing(Exception):
    """Fewer witnesses than the quorum agree with the log; signing waits until enough agree."""


class Unconfirmed(Exception):
    """Others signed more than this machine has stored; signing waits until one of them goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureBacklog:
    """Numbers of leaves that lack a signature of the log, or a cosignature of a witness."""

    unsigned: int  # leaves in no checkpoint
    uncosigned: Mapping[str, int]  # witness → leaves of the newest checkpoint not yet cosigned


class Sequencer:
    """
    Appends leaves, signs the tree, and asks witnesses; the next run completes an interrupted one.

    Several sequencers may run at once. A batch is appended only to the tree it was made for,
    so there is one tree, and two signatures of the same tree by the same key are the same
    bytes. A tree is signed only after it was committed and read back from the database.

    Each machine stores the newest checkpoint that it knows. One that starts with less than the
    database has does not know how much was signed before a restore of that database, so it waits
    until another, whose file shows that the database is not older, signs a new head.

    With a WAL archive a tree is signed only once the archive holds it, so that no restore from the
    archive leads to a database with less than was published. Until then nothing is appended to it.
    """

    def __init__(
        self,
        *,
        store: LogStore,
        origin: str,
        signers: Callable[[datetime], Sequence[NoteSigner]],
        now: Callable[[], datetime],
        witnesses: Sequence[RemoteWitness] = (),
        quorum: int = 0,
        checkpoints: SignedCheckpoints | None = None,
        wal: ArchivedWal | None = None,
        step: Step = lambda _name: None,
        own_keys: Callable[[], Sequence[NoteVerifier]] = lambda: (),
    ) -> None:
        self._store = store
        self._origin = origin
        self._signers = signers
        self._now = now
        self._witnesses = witnesses
        self._quorum = quorum
        self._checkpoints = checkpoints or NoCheckpoints()
        self._wal = wal
        self._awaited: tuple[int, str] | None = None  # size of a head, and its place in the WAL
        self._has_saved = False
        self._size_at_start: int | None = None
        self._step = step
        self._own_keys = own_keys

    def run_once(self) -> int:
        """Append and sign once; return the number of new leaves; raises errors of the store."""
        if self._wal is not None:
            self.publish()  # what was appended before: the archive may hold it by now
        added = self.append()
        self.publish()
        return added

    def append(self) -> int:
        """
        Append a batch of waiting leaves; return their number, 0 if another sequencer was faster.

        Nothing is appended to a tree that waits for the archive. Raises LogBroken if the stored
        tiles do not form the stored tree.
        """
        now = self._now()
        head = self._store.head()
        if self._wal is not None and head.note is None:
            return 0
        waiting = self._store.waiting(limit=BATCH, last_leaf_before=now - LEAF_INTERVAL)
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
        """
        Sign the newest head if signatures are missing; return whether any were.

        A head that another sequencer signed is stored first. A head that the archive does not hold
        yet is not signed. Raises LogBroken if the tree does not continue every tree signed so far,
        or if a signed checkpoint cannot be read; NotSaved if one cannot be stored. A database that
        is older than the last checkpoint is reported even if nothing waits for a signature.
        """
        # The order matters: another sequencer may sign a newer head between these reads.
        last_signed = self._last_signed()
        published = self._store.published()
        head = self._store.head()
        if published is not None and self._is_behind(published.size, last_signed):
            self._check_last_signed(head, last_signed)
            last_signed = self._take(published)
        signers = self._signers(self._now())
        note = self._signed(head, signers)
        if note == head.note:
            self._check_not_older(head, last_signed)
            return False
        if not self._is_archived(head):
            return False
        self._check(head, published)
        self._check_last_signed(head, last_signed)
        self._check_contradiction(head)
        self._step("checked")
        self._save(note, self._archived_position(head))
        self._store.sign(head.size, note)
        self._step("signed")
        return True

    def _is_archived(self, head: Head) -> bool:
        """Return whether a head was published already or is in the archive, if there is one."""
        if self._wal is None or head.note is not None:
            return True
        if self._awaited is None or self._awaited[0] != head.size:
            self._awaited = head.size, self._wal.position()
        return self._wal.holds(self._awaited[1])

    def _archived_position(self, head: Head) -> WalPosition | None:
        """Return the position that the archive held before this head was signed."""
        if self._wal is None or self._awaited is None or self._awaited[0] != head.size:
            return None
        return WalPosition(leaves=head.size, cluster=self._wal.cluster(), position=self._awaited[1])

    def declare(self, since: datetime) -> Restore:
        """
        Append the declaration that moves after `since` may be missing, and return it.

        It is signed with the next head. Raises LogMoved, or LogBroken as `append`.
        """
        now, head, number = self._now(), self._store.head(), len(self._store.restores()) + 1
        made = new_restore(self._origin, leaf=head.size, since=min(since, now), at=now)
        data = made.body.encode()
        leaf = Leaf(index=head.size, game=RESTORES, version=number, data=data)
        self._store.append(self._batch_of(head, [leaf], (), now))
        return made

    @property
    def witnesses(self) -> tuple[RemoteWitness, ...]:
        """Return the configured witnesses."""
        return tuple(self._witnesses)

    def confirm(self) -> None:
        """
        Check before signing that the database is not older than the published log.

        All witnesses are asked in parallel. Raises LogBroken if a witness proves that it has seen
        another log, and QuorumMissing if fewer witnesses than the quorum agree. Raises Unconfirmed
        if the stored checkpoint is missing or smaller than the published one, unless a witness
        agrees or another sequencer has signed since the first call.
        """
        published = self._store.published()
        size = 0 if published is None else published.size
        if self._size_at_start is None:
            self._size_at_start = size
        last = self._last_signed()
        agreed = self._agreeing(published)
        if agreed < self._quorum:
            raise QuorumMissing(
                f"{agreed} of {len(self._witnesses)} witnesses agree with the log; "
                f"before it is signed, {self._quorum} must agree"
            )
        if self._is_behind(size, last) and not agreed and size <= self._size_at_start:
            known = "is missing" if last is None else f"has {last.size} signed leaves"
            raise Unconfirmed(
                f"{self._checkpoints.path} {known}, and the public log has {size}; more may have "
                "been signed than this database has: save the newest known checkpoint under this "
                "name, unless another sequencer signs the next leaves"
            )

    def _agreeing(self, published: SignedHead | None) -> int:
        """Return how many witnesses agree with this head; raises LogBroken for a contradiction."""
        size = 0 if published is None else published.size
        note = self._empty_checkpoint() if published is None else published.note
        tree = TiledTree(size, self._store.hashes)
        own = self._own_verifiers()
        answers = ask_all(
            self._witnesses, lambda witness: ask_witness(witness, note, tree, size, own)
        )
        agreed = 0
        for witness, answer in answers:
            if isinstance(answer, str) or self._overtaken(answer):
                agreed += 1
            elif isinstance(answer, WitnessRefused) and answer.proof is not None:
                self._save_contradiction(answer.proof)
                raise LogBroken(f"{witness.verifier.name}: {answer}")
        return agreed

    def backlog(self) -> SignatureBacklog:
        """Return how far signatures lag behind the leaves, for metrics and health."""
        head, published = self._store.head(), self._store.published()
        signed = 0 if published is None else published.size
        uncosigned = {
            witness.verifier.name: max(0, signed - self._store.cosigned_size(str(witness.verifier)))
            for witness in self._witnesses
        }
        return SignatureBacklog(unsigned=head.size - signed, uncosigned=uncosigned)

    def ask_witnesses(self) -> list[tuple[RemoteWitness, NoCosignature]]:
        """
        Request the cosignatures of all witnesses for the newest checkpoint, in parallel.

        Return the witnesses without a cosignature, each with the reason. For an empty tree no
        witness is asked.
        """
        answers = ask_all(self._witnesses, self.ask)
        return [(witness, reason) for witness, reason in answers if reason is not None]

    def ask(self, witness: RemoteWitness, *, again: bool = False) -> NoCosignature | None:
        """
        Request and store a witness's cosignature; return why there is none, None for success.

        `again`: also for a tree that it has cosigned, to see whether it still knows that tree. If
        it was set back, it cosigns from there on, and WitnessSetBack is returned all the same. A
        refusal with a proof stops all further signing, also after a restart.
        """
        published = self._store.published()
        if published is None or published.size == 0:
            return None
        tree = TiledTree(published.size, self._store.hashes)
        name = str(witness.verifier)
        known = self._store.cosigned_size(name)
        if known >= published.size and not again:
            return None
        keys, set_back = self._own_verifiers(), None
        try:
            try:
                line = ask_witness(witness, published.note, tree, known, keys, cosigned=known)
            except WitnessSetBack as found:
                set_back = found
                line = ask_witness(witness, published.note, tree, found.size, keys)
        except NoCosignature as reason:
            if self._overtaken(reason):
                return None
            if isinstance(reason, WitnessRefused) and reason.proof is not None:
                self._save_contradiction(reason.proof)
            return reason
        self._step("cosigned")
        self._store.keep_cosignature(published.size, name, line)
        return set_back

    def _own_verifiers(self) -> list[NoteVerifier]:
        """Return all known keys of this log, current and retired."""
        present = [signer.verifier for signer in self._signers(self._now())]
        return list(dict.fromkeys([*present, *self._own_keys()]))

    def _empty_checkpoint(self) -> bytes:
        """Return the signed checkpoint of an empty tree, which an empty log sends to witnesses."""
        head = Checkpoint(origin=self._origin, size=0, root=root(()))
        return sign_checkpoint(head, self._signers(self._now()))

    def _save_contradiction(self, proof: bytes) -> None:
        try:
            self._checkpoints.save_contradiction(proof)
        except OSError as error:
            raise LogBroken(f"a witness's checkpoint cannot be saved: {why(error)}") from None

    def _overtaken(self, reason: object) -> bool:
        """Return whether a witness saw a larger tree that another sequencer has published since."""
        if not isinstance(reason, WitnessRefused):
            return False
        published = self._store.published()
        if published is None:
            return False
        if reason.proof is not None:
            seen = parse_checkpoint(parse_note(reason.proof).text)
            return self._continues(published.size, seen)
        return isinstance(reason, LargerTreeSeen) and reason.size <= published.size

    def _continues(self, size: int, seen: Checkpoint) -> bool:
        """Return whether the tree `seen` is a prefix of the tree of `size` leaves."""
        return (
            seen.size <= size and TiledTree(size, self._store.hashes).root(seen.size) == seen.root
        )

    def _batch(self, head: Head, waiting: Sequence[WaitingGame], now: datetime) -> Batch:
        leaves: list[Leaf] = []
        for row in waiting:
            if row.in_log:
                continue
            data = receipt_body(self._origin, row.game, row.version - 1, row.head).encode()
            index = head.size + len(leaves)
            leaves.append(Leaf(index=index, game=row.game, version=row.version, data=data))
        done = tuple((row.game, row.version) for row in waiting if row.in_outbox)
        return self._batch_of(head, leaves, done, now)

    def _batch_of(
        self,
        head: Head,
        leaves: Sequence[Leaf],
        outbox_rows: tuple[tuple[UUID, int], ...],
        now: datetime,
    ) -> Batch:
        edge = read_edge(head.size, self._store.hashes)
        if edge.root != head.root:
            raise LogBroken(f"the tiles do not make the tree of {head.size} leaves")
        grown, added = grow(edge, [leaf_hash(leaf.data) for leaf in leaves])
        return Batch(
            size=head.size,
            leaves=tuple(leaves),
            hashes=tuple(entry for entry in added if entry[0] > 0),
            root=grown.root,
            outbox_rows=outbox_rows,
            at=now,
        )

    def _check(self, head: Head, published: SignedHead | None) -> None:
        """Raise LogBroken unless the tiles form this tree, and the last signed one is a prefix."""
        tree = TiledTree(head.size, self._store.hashes)
        if tree.root() != head.root:
            raise LogBroken(f"the tiles do not make the tree of {head.size} leaves")
        if published is not None and tree.root(published.size) != published.root:
            raise LogBroken(
                f"the tree does not continue its published head of {published.size} leaves"
            )

    def _last_signed(self) -> Checkpoint | None:
        try:
            return self._checkpoints.last()
        except (OSError, RecordError) as error:
            raise LogBroken(f"the last signed checkpoint cannot be read: {why(error)}") from None

    def _is_behind(self, size: int, last: Checkpoint | None) -> bool:
        """Return whether this machine has stored less than a published tree of `size` leaves."""
        if self._checkpoints.path is None or (last is None and self._has_saved):
            return False
        return size > (0 if last is None else last.size)

    def _take(self, published: SignedHead) -> Checkpoint:
        """Store and return a head that another sequencer signed; raises LogBroken or NotSaved."""
        try:
            seen, _, _ = open_checkpoint(published.note, self._own_verifiers())
        except RecordError as error:
            raise LogBroken(
                f"no key of this log signed its head of {published.size} leaves: {error.detail}"
            ) from None
        self._save(published.note)
        return seen

    def _save(self, note: bytes, wal: WalPosition | None = None) -> None:
        """Store a checkpoint; raises NotSaved, or LogBroken beside another tree of its size."""
        fault = "the checkpoint to be signed cannot be saved"
        try:
            self._checkpoints.save(note, wal)
        except OSError as error:
            raise NotSaved(f"{fault}: {why(error)}") from None
        except RecordError as error:
            raise LogBroken(f"{fault}: {why(error)}") from None
        self._has_saved = True

    def _check_last_signed(self, head: Head, last: Checkpoint | None) -> None:
        """Raise LogBroken unless this tree continues the last checkpoint in the file."""
        path = self._checkpoints.path
        if last is None:
            if self._has_saved and path is not None:
                raise LogBroken(f"{path} is missing: the last signed checkpoint is lost")
            return
        self._check_not_older(head, last)
        if TiledTree(head.size, self._store.hashes).root(last.size) != last.root:
            raise LogBroken(
                f"the tree does not continue the {last.size} leaves that were signed last"
            )

    def _check_not_older(self, head: Head, last: Checkpoint | None) -> None:
        """Raise LogBroken if the last checkpoint in the file has more leaves than the database."""
        if last is not None and last.size > head.size:
            raise LogBroken(
                f"a tree of {last.size} leaves was signed here, but the database has {head.size}: "
                "the database is older, as after a restore"
            )

    def _check_contradiction(self, head: Head) -> None:
        """Raise LogBroken while the tree does not continue the checkpoint shown by a witness."""
        try:
            seen = self._checkpoints.contradiction()
        except (OSError, RecordError) as error:
            raise LogBroken(f"a witness's checkpoint cannot be read: {why(error)}") from None
        if seen is None:
            return
        if not self._continues(head.size, seen):
            raise LogBroken(
                f"a witness has shown a checkpoint of {seen.size} leaves that was signed here, and "
                f"the tree of {head.size} leaves does not continue it"
            )
        self._checkpoints.clear_contradiction()

    def _signed(self, head: Head, signers: Sequence[NoteSigner]) -> bytes:
        """
        Return the signed note of a head, with its present signatures and those of all signers.

        Present signatures are retained, because processes with older and newer keys run
        at the same time while a key rotation is rolled out.
        """
        checkpoint = Checkpoint(origin=self._origin, size=head.size, root=head.root)
        if head.note is None:
            return sign_checkpoint(checkpoint, signers)
        present = {(line.name, line.key_id) for line in parse_note(head.note).signatures}
        missing = [s for s in signers if (s.name, s.verifier.key_id) not in present]
        if len(present) + len(missing) > MAX_SIGNING:
            # On an idle log, after many rotations: drop the lines of retired keys.
            return sign_checkpoint(checkpoint, signers) if missing else head.note
        return head.note + "".join(_line(signer, checkpoint) for signer in missing).encode()


def _line(signer: NoteSigner, checkpoint: Checkpoint) -> str:
    signature = signer.key.sign(checkpoint.body.encode())
    return signature_line(signer.name, signer.verifier.key_id, signature)
