"""An event loop without sockets: whatever it waits for is a time."""

import asyncio
import time


class Clock:
    """What the loop calls its selector."""

    def select(self, timeout: float | None) -> list:
        if timeout is None:
            raise RuntimeError("the program waits for something that nothing settles")
        if timeout > 0:
            time.sleep(timeout)
        return []


class Loop(asyncio.BaseEventLoop):
    def __init__(self) -> None:
        super().__init__()
        self._selector = Clock()

    def _process_events(self, events: list) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def run_in_executor(self, executor, function, *arguments) -> asyncio.Future:
        # There is one thread: what is handed to another runs now.
        future = self.create_future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


def install() -> None:
    asyncio.new_event_loop = asyncio.events.new_event_loop = Loop
