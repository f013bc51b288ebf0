"""What a program keeps for later calls."""

import json
from collections.abc import Iterator, MutableMapping


class State(MutableMapping):
    """A dictionary that is asked for when it is first used, and kept if the program succeeds."""

    def __init__(self, host) -> None:
        self._host = host
        self._members: dict | None = None
        self._before = b""

    def _all(self) -> dict:
        if self._members is None:
            self._before = self._host.state() or b"{}"
            self._members = json.loads(self._before)
        return self._members

    def __getitem__(self, key: str) -> object:
        return self._all()[key]

    def __setitem__(self, key: str, value: object) -> None:
        if not isinstance(key, str):
            raise TypeError(f"keys of `state` are texts, not {type(key).__name__}")
        self._all()[key] = value

    def __delitem__(self, key: str) -> None:
        del self._all()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def keep(self) -> None:
        if self._members is None:
            return
        try:
            text = json.dumps(self._members, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise type(error)(f"`state` cannot be kept: {error}") from None
        now = text.encode("utf-8", "replace")
        if now != self._before:
            self._host.set_state(now)
