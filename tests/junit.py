"""The structure of a JUnit file as its readers want it, written down as tables.

What Jenkins' xUnit plugin (its schema is called junit-10) accepts, and the attributes that GitLab's parser reads. One
thing is wider than that schema: `properties` in a `testcase`, which it does not have; Jenkins' own `junit` step reads
them, GitLab passes over them.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

# element: attributes that it must have, attributes that it may have, elements that it may hold, whether it holds text
ELEMENTS = {
    "testsuites": ((), ("name", "time", "tests", "failures", "errors"), ("testsuite",), False),
    "testsuite": (
        ("name", "tests", "failures", "errors"),
        ("group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"),
        ("testsuite", "properties", "testcase", "system-out", "system-err"),
        False,
    ),
    "testcase": (
        ("name",),
        ("time", "classname", "group"),
        ("skipped", "error", "failure", "system-out", "system-err", "properties"),
        False,
    ),
    "properties": ((), (), ("property",), False),
    "property": (("name", "value"), (), (), False),
    "failure": ((), ("type", "message"), (), True),
    "error": ((), ("type", "message"), (), True),
    "skipped": ((), ("type", "message"), (), True),
    "system-out": ((), (), (), True),
    "system-err": ((), (), (), True),
}
# Python names them in files of the older family, for GitLab's links; the schema above does not know them.
XUNIT1 = ("file", "line")


def faults(text: str, *, more: tuple[str, ...] = (), properties: bool = True) -> list[str]:
    """What is wrong with a file, a line each; none if it is right.

    :param more: attributes that a `testcase` may have besides.
    :param properties: whether a `testcase` may have properties.
    """
    root = ElementTree.fromstring(text)
    found = [] if root.tag == "testsuites" else [f"the root is {root.tag}"]
    for element in root.iter():
        if element.tag not in ELEMENTS:
            found.append(f"there is no {element.tag}")
            continue
        must, may, inside, holds_text = ELEMENTS[element.tag]
        may += more if element.tag == "testcase" else ()
        found += [f"{element.tag} has no {name}" for name in must if name not in element.attrib]
        found += [f"{element.tag} has {name}" for name in element.attrib if name not in (*must, *may)]
        for child in element:
            strict = element.tag == "testcase" and child.tag == "properties" and not properties
            if child.tag not in inside or strict:
                found.append(f"{child.tag} in {element.tag}")
        if not holds_text and (element.text or "").strip():
            found.append(f"text in {element.tag}")
        if not re.fullmatch(r"[0-9]*(\.[0-9]*)?", element.get("time", "")):
            found.append(f"the time of a {element.tag} is {element.get('time')}")
    for suite in root.iter("testsuite"):
        cases = list(suite.iter("testcase"))
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            count = sum(case.find(tag) is not None for case in cases)
            if count != int(suite.get(name, "-1")):
                found.append(f"{suite.get(name)} {name} are {count}")
        # GitLab takes two cases with the same names for one.
        names = [(case.get("classname"), case.get("name")) for case in cases]
        if len(set(names)) < len(names):
            found.append("two cases have one name")
    return found


def properties(element: ElementTree.Element) -> dict[str, str]:
    """Name → value of the properties of a suite or a case."""
    return {one.get("name", ""): one.get("value", "") for one in element.findall("properties/property")}
