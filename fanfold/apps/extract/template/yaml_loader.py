"""A YAML loader for templates. It refuses aliases, which can expand without bound, and repeated keys, which lose data."""

from __future__ import annotations

from typing import Any

import yaml


class RepeatedKey(ValueError):
    """A mapping has a key twice; the text is the key."""


class PlainLoader(yaml.SafeLoader):
    """SafeLoader without aliases, repeated keys and dates: a date stays text."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Refuse aliases."""
        if self.check_event(yaml.AliasEvent):
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases are not supported", event.start_mark)
        found: yaml.Node | None = super().compose_node(parent, index)
        return found

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Refuse repeated keys."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for position, key in enumerate(keys):
            if key in keys[:position]:
                raise RepeatedKey(str(key))
        return super().construct_mapping(node, deep)


PlainLoader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
    for letter, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
