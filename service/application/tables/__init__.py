"""
Use cases of tables, which deal hand after hand.

In the order in which to read: `record` (a folded table), `commands` (the commit of a change),
`tables` (open, sit, leave, close), `invitations`, `challenges`, `dealing` (the next hand), `view`
(as JSON), `seeks` (tables with anybody), `matching` (which seeks get a table together, and its
commit).
"""
