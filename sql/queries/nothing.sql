-- nothing: a statement without effect, to test the connection.
SELECT 1
