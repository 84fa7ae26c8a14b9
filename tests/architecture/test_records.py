"""House rule on records: one style for each purpose."""

import ast
from collections.abc import Iterator

from tests.architecture.house import Module, modules, nodes, require_clean, snippet


def find_dictionaries(module: Module) -> Iterator[str]:
    """Complain about a dataclass without slots."""
    for node in nodes(module.tree):
        for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else ():
            words = ast.unparse(decorator)
            if words.startswith("dataclass") and "slots=True" not in words:
                yield f"{module.at(node)}: {words}"


def test_records_have_slots() -> None:
    """A dataclass has slots, so that a field cannot be misspelled and costs no dictionary."""
    fix = "write @dataclass(frozen=True, slots=True), or slots=True alone if the record changes"
    require_clean(find_dictionaries, modules("gitworker"), fix)


def test_record_rule_finds_faults() -> None:
    """A dataclass without slots is found, whether it has other options or none."""
    bad = snippet("@dataclass\nclass A: pass\n@dataclass(frozen=True)\nclass B: pass\n")
    assert len(list(find_dictionaries(bad))) == 2
    assert not list(find_dictionaries(snippet("@dataclass(slots=True)\nclass C: pass\n")))
