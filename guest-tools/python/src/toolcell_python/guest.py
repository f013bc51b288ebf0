"""The component's side: WIT in, `program.run` out."""

import errno
from json import dumps

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import events, preopens, store
from wit_world.imports.toolcell_tool_types import Content_Json, Content_Text, Output

from .program import Answer, run

# The bucket and the key of the state.
STATE = "state"


def kept(error: Err) -> OSError:
    match error.value:
        case store.Error_AccessDenied():
            words = (
                "there is no `state` here: this tool may keep nothing. Its operator allows it with "
                '`grant.state = "session"`'
            )
            return PermissionError(errno.EPERM, words)
        case store.Error_NoSuchStore():
            return OSError(errno.EIO, "there is no `state` here: the host has no place for it")
        case other:
            return OSError(errno.EIO, f"`state`: {other.value}")


class Host:
    """Whatever runs the tool."""

    def directories(self) -> list[str]:
        return [name for _, name in preopens.get_directories()]

    def show(self, text: str) -> None:
        events.emit(Content_Text(text))

    def state(self) -> bytes | None:
        try:
            return store.open(STATE).get(STATE)
        except Err as error:
            raise kept(error) from None

    def set_state(self, value: bytes) -> None:
        try:
            store.open(STATE).set(STATE, value)
        except Err as error:
            raise kept(error) from None


def output(answer: Answer) -> Output:
    """What the model reads after what was printed, and all of it for programs."""
    members = {}
    if answer.has_value:
        members["value"] = answer.value
    if answer.printed:
        members["console"] = answer.printed
    structured = dumps(members, ensure_ascii=False, allow_nan=False)
    if answer.value is None:
        block = [] if answer.printed else [Content_Text("None")]
    elif isinstance(answer.value, str):
        block = [Content_Text(answer.value)]
    else:
        block = [Content_Json(dumps(answer.value, ensure_ascii=False, allow_nan=False))]
    return Output(block, structured)


class Tools(exports.Tools):
    def run_python(self, code: str) -> Output:
        answer = run(code, Host())
        try:
            return output(answer)
        except MemoryError:
            raise Err("the value of the last expression is too large for the memory of this tool; give a part of it") from None
