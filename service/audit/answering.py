"""Who answers for a move: who made it, who took it into the record, who can show that."""

from __future__ import annotations

from service.audit.story import Done, Story


def who_answers(story: Story, done: Done) -> tuple[str, ...]:
    """
    Return in sentences who made a move, and that the server let it happen.

    A server judges each move before it writes it down, so no seat breaks a rule alone;
    and where no key of a seat's signed, that the seat asked for it is the server's word.
    """
    seat = done.seat
    if seat is None:
        return ("The server did this; no player has a part in it.",)
    if done.timed_out:
        return (f"The server made this move for seat {seat}, whose time was up.",)
    if story.games[0].setup.seats[seat].bot is not None:
        return (f"A bot of the server's made this move for seat {seat}; the server accepted it.",)
    made = f"Seat {seat} made this move, and the server, which judges every move, accepted it."
    if "auth" in story.log[done.first].fields:
        return (made, f"The move carries a signature by the key of seat {seat}.")
    return (made, f"No key signed it: that seat {seat} asked for it is the server's word.")
