-- prev_of: the head, in hex, that an event of a stream names as the one before it; '' if it names none.
--
-- Searched as text: to parse the line would take four times as long. In canonical JSON `prev` follows the
-- id of the stream, and quotation marks within strings are escaped. Every append compares it with the
-- head of the stream, so that no line is stored that continues another history.
CREATE OR REPLACE FUNCTION prev_of(line text, stream uuid) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT left(split_part(line, stream::text || '","prev":"', 2), 64)
$$;
