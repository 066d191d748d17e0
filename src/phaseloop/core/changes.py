"""A frozen value with some of its fields changed: `dataclasses.replace` at a third of the time."""

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import replace as replace  # so that names and types of fields are checked
else:

    def replace(value: Any, /, **changes: Any) -> Any:
        """The value with `changes`. Raises `TypeError` for a field that its class does not have."""
        copied, setters = _compiled(type(value))
        made = copied(value)
        for name, new in changes.items():
            if name not in setters:
                raise TypeError(f"{type(value).__name__} has no field {name!r}")
            setters[name](made, new)
        return made


Setter = Callable[[Any, Any], None]


@cache
def _compiled(cls: type[Any]) -> tuple[Callable[[Any], Any], dict[str, Setter]]:
    """A function that copies slot by slot, one line a field, and the setter of each slot.

    Folding a history is mostly this; a loop over the fields takes twice as long. Raises `TypeError` for a
    class that is not slotted or that computes something when it is made.
    """
    names = [field.name for field in dataclasses.fields(cls)]
    if hasattr(cls, "__post_init__") or not all(hasattr(vars(cls).get(name), "__set__") for name in names):
        raise TypeError(f"{cls.__name__} is no slotted dataclass with plain fields")
    setters: dict[str, Setter] = {name: vars(cls)[name].__set__ for name in names}
    known: dict[str, Any] = {"new": object.__new__, "cls": cls}
    known |= {f"set_{name}": setter for name, setter in setters.items()}
    lines = [f"    set_{name}(made, value.{name})" for name in names]
    text = "\n".join(["def copied(value):", "    made = new(cls)", *lines, "    return made"])
    exec(text, known)  # the text comes from field names of the core only
    return known["copied"], setters
