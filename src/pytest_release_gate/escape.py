"""One escape function per sink: what comes from a file is hostile until it has passed through one of these.

What a person reads stays readable: letters of every script, `§`, `é` and emoji are left alone; what is invisible, or
moves the cursor, or changes direction is written out as its code point.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

# Control, format, surrogate, private, unassigned; line and paragraph separators; every blank but the plain one.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# In an emoji sequence a joiner is part of what is seen.
_JOINER = "\u200d"
_LONGEST_ID = 100
# Some services, and PyCharm for `##teamcity[`, take these for commands wherever they stand in a line.
_ANYWHERE = re.compile(r"#(?=#\w*\[)")


def _written_out(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _joins_emoji(text: str, index: int) -> bool:
    before = text[:index].rstrip("\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")[-1:]
    after = text[index + 1 : index + 2]
    return bool(before and after) and unicodedata.category(before) == unicodedata.category(after) == "So"


def terminal(text: str) -> str:
    """For one line of a terminal or a log: no control characters, no line breaks, nothing invisible.

    Logs of CI services take for commands what begins with `::`, or has `##[` or `##NAME[` in it; no line of ours does.
    """
    text = _ANYWHERE.sub(r"\\x23", text)
    if text.lstrip().startswith("::"):
        first = len(text) - len(text.lstrip())
        return text[:first].replace("\n", " ") + _written_out(text[first]) + terminal(text[first + 1 :])
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character
        if character == " "
        or unicodedata.category(character) not in _UNSEEN
        or (character == _JOINER and _joins_emoji(text[max(0, index - 8) : index + 2], min(index, 8)))
        else _written_out(character)
        for index, character in enumerate(text)
    )


def lines(text: str) -> str:
    """For several lines of a terminal: like `terminal`, but for the line feeds."""
    return "\n".join(map(terminal, text.split("\n")))


def node_id(text: str) -> str:
    r"""For a pytest node id: injective, one line, no `::`, no `[`, at most 100 characters (then with a digest).

    A backslash is doubled, so that `\x1b` in a file and an escape character never read alike.
    """
    safe = terminal(text.replace("\\", "\\\\")).replace("[", "\\x5b").replace("::", ":\\x3a")
    # What argument files, shells and pytest's own splitting would lose.
    safe = re.sub(r"^ | $", "\\\\x20", safe)
    if len(safe) <= _LONGEST_ID:
        return safe
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{safe[: _LONGEST_ID - 20]}…{digest}"


def workflow_command(text: str, *, in_property: bool = False) -> str:
    r"""For a workflow command of GitHub Actions: no line of it begins another command, and none ends it.

    :param text: its message, where line feeds are kept as `%0A`.
    :param in_property: for the value of a property instead, which is one line without `:` and `,`.
    """
    safe = terminal(text) if in_property else lines(text)
    for character in "%\r\n" + (":," if in_property else ""):
        safe = safe.replace(character, f"%{ord(character):02X}")
    return safe


def file_name(text: str) -> str:
    """For the name of a results file: injective, ASCII letters, digits and `. _ -`; others as `%XX` of their UTF-8."""
    encoded = text.encode("utf-8", "surrogatepass")
    return "".join(
        chr(b) if chr(b).isascii() and (chr(b).isalnum() or chr(b) in "._-") else f"%{b:02X}" for b in encoded
    )


def markdown(text: str) -> str:
    """For a cell or a line of Markdown: no markup, no HTML, no line break; `&` and `<` as entities."""
    safe = terminal(text)
    safe = re.sub(r"[\\`*_{}\[\]()#+!|~@$^=]", lambda match: "\\" + match[0], safe)
    return safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code(text: str) -> str:
    """For Markdown in fixed width: a code span that nothing in the text can close, a pipe included."""
    safe = terminal(text).replace("|", "\\|")
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", safe)), default=0))
    pad = " " if safe.startswith("`") or safe.endswith("`") else ""
    return f"{ticks}{pad}{safe}{pad}{ticks}" if safe else ""
