"""What the program prints, on its way to the reader in pieces."""

import codecs
import io
import sys
import time

# A piece this long is given out at once, so that no program fills the memory by printing.
PIECE = 16 * 1024

# What was printed and is not given out yet is lost when the call is stopped, and each piece is a block of the result:
# this many seconds are soon enough for the one and rare enough for the other.
PAUSE = 0.1

# So many times a program gets what it flushes given out at once. Some flush each line.
FLUSHES = 20

# Before a sleep that takes as many seconds, what is no line yet is given out too: a call may be stopped in it, and nothing
# that would end the line follows soon.
FAR = 1

# As much of it is in the data beside the result too.
KEPT = 32 * 1024

# While something waits, each turn of a loop and each call of a function looks at the clock.
WATCHED = sys.monitoring.events.JUMP | sys.monitoring.events.PY_START
TOOL = 3
sys.monitoring.use_tool_id(TOOL, "toolcell")


class Lines:
    """The lines of a program."""

    def __init__(self, host) -> None:
        self.host = host
        self.waiting: list[str] = []
        self.length = 0
        self.shown = time.monotonic()
        self.first: list[str] = []
        self.room = KEPT
        self.watches = False
        self.flushes = FLUSHES
        for event in (sys.monitoring.events.JUMP, sys.monitoring.events.PY_START):
            sys.monitoring.register_callback(TOOL, event, self.look)

    def write(self, text: str) -> None:
        self.waiting.append(text)
        self.length += len(text)
        if self.length >= PIECE:
            self.flush()
        else:
            self.look()
        self.watch(bool(self.waiting))

    def look(self, *_) -> None:
        if time.monotonic() - self.shown >= PAUSE:
            self.give_lines()
            self.watch(False)

    def wait(self, seconds: float) -> None:
        """Gives out before a sleep what a reader should not wait for."""
        if seconds >= FAR:
            self.flush()
        elif seconds >= PAUSE:
            self.give_lines()
        else:
            self.look()

    def flush_asked(self) -> None:
        """Gives out what waits since the program wants it, unless it wants that all the time."""
        if self.flushes > 0 or time.monotonic() - self.shown >= PAUSE:
            self.flushes -= 1
            self.flush()

    def watch(self, watches: bool) -> None:
        if self.watches != watches:
            self.watches = watches
            sys.monitoring.set_events(TOOL, WATCHED if watches else sys.monitoring.events.NO_EVENTS)

    def give_lines(self) -> None:
        """Gives out what waits, up to the end of its last line."""
        text = "".join(self.waiting)
        end = text.rfind("\n") + 1
        self.waiting = [text[end:]] if end < len(text) else []
        self.length = len(text) - end
        self.show(text[:end])

    def flush(self) -> None:
        """Gives out all that waits."""
        text = "".join(self.waiting)
        self.waiting = []
        self.length = 0
        self.watch(False)
        self.show(text)

    def show(self, text: str) -> None:
        if not text:
            return
        self.host.show(text.removesuffix("\n"))
        self.shown = time.monotonic()
        if self.room <= 0:
            return
        self.first.append(text[: self.room])
        self.room -= len(text)
        if self.room < 0:
            self.first.append("\n[more was printed]\n")

    def kept(self) -> str:
        """What was printed, up to a bound."""
        return "".join(self.first)


_sleep = time.sleep


def _sleep_openly(seconds: float, /) -> None:
    stream = sys.__stdout__
    if isinstance(stream, Stream) and isinstance(seconds, (int, float)):
        stream.lines.wait(seconds)
    _sleep(seconds)


class Bytes(io.RawIOBase):
    """The bytes of standard output: text that is given as bytes."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        data = bytes(data)
        self.lines.write(self.decoder.decode(data))
        return len(data)

    def flush(self) -> None:
        self.lines.flush_asked()


class Stream(io.TextIOBase):
    """Standard output, and standard error."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.buffer = Bytes(lines)

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if text:
            self.lines.write(text if text.isascii() else text.encode("utf-8", "replace").decode())
        return len(text)

    def flush(self) -> None:
        self.lines.flush_asked()

    def reconfigure(self, **_) -> None:
        pass


def install() -> None:
    time.sleep = _sleep_openly
