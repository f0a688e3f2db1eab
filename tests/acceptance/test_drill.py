"""The drill of recovery, `ops/drill`: a destroyed data folder, recovered from its archive."""

from __future__ import annotations

import pytest

from ops.recovery import drill
from tests.examples import repeated

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("lossless", [True, pytest.param(False, marks=pytest.mark.long)])
def test_games_go_on_after_the_data_folder_is_lost(*, lossless: bool) -> None:
    """
    Every game is there and ends, and one public log continues under the same keys.

    With a synchronous archive nothing acknowledged is missing. If the archive stalls, the loss is
    declared, each receipt of a missing move fails beside the declaration, and a running game that
    lost moves can be ended; all others go on.
    """
    done = drill(lossless=lossless, tables=repeated(1), seconds=2)
    assert done.checked.wrong == []
    assert done.acknowledged > 0
    assert done.running > 0
    assert done.lost == 0 if lossless else done.lost > 0
    for counted in (
        *("acknowledged moves, each in the log exactly once", "last leaves of games in the tree"),
        *("monitor and witness agree, before", "monitor and witness agree, after"),
    ):
        assert done.checked.counts[counted] > 0, counted
