"""What a log says of a move, a card, a seat: decision, custody, knowledge, statistics."""
