"""
The last import of the fork server (`service/local/forked_programs.py`): prepares it for its forks.

Garbage collection skips frozen objects. Without this a collection in a child would write to all
objects, and the children would no longer share their memory. OpenSSL sets up its algorithms at
the first key, which takes each child 2.7 MB unless the fork server has done it.
"""

import gc
import os
import signal

import setproctitle

from service.keys import Keyring
from service.local.forked_programs import PARENT, end_with_parent

# multiprocessing ends the fork server only after the last program; a suspended one ignores SIGTERM.
end_with_parent(signal.SIGKILL)
os.environ[PARENT] = str(os.getpid())  # for the programs that are forked from here
setproctitle.setproctitle("shithead fork server")
Keyring.generate()  # thrown away
gc.collect()
gc.freeze()
