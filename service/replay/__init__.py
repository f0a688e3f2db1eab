"""Replays of recorded games: steps, captions, frames, transcripts. No database."""
