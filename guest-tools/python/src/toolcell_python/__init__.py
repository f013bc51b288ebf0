"""Python, run to its end. The tool is documented in `wit/world.wit`.

All of this is imported once, while the component is built: the component is the memory of the interpreter after that. What
differs from call to call must be made in the call.
"""

import atexit
import gc
import os
import sys

from . import console, library, nesting, refusals
from .guest import Tools as Tools

library.load()
refusals.install()
console.install()
nesting.install()
sys.dont_write_bytecode = True
sys.path[:] = []
sys.path_importer_cache.clear()
# Conversions of long numbers take their time, and that has a bound already.
sys.set_int_max_str_digits(0)
# Calls of Python by Python take no stack but memory. Twice the usual, for memoised functions are two calls each.
sys.setrecursionlimit(2000)
os.environ.clear()
atexit._clear()
# What is here stays, so no collection of a call has to look at it, and to copy its pages.
gc.collect()
gc.freeze()
