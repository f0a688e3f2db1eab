"""
The last import of the fork server (`service/local/forked_programs.py`): freezes its objects.

Garbage collection skips frozen objects. Without this a collection in a child would write to all
objects, and the children would no longer share their memory.
"""

import gc
import os

import setproctitle

from service.local.forked_programs import PARENT, end_with_parent

end_with_parent()  # multiprocessing ends the fork server only after the last program
os.environ[PARENT] = str(os.getpid())  # for the programs that are forked from here
setproctitle.setproctitle("shithead fork server")
gc.collect()
gc.freeze()
