"""Each template of the page compiles: a misspelt filter would otherwise be found only by whoever opens that page."""

import pytest

from fanfold.server.web.frame.templating import environment

NAMES = environment().list_templates()


def test_there_are_templates() -> None:
    assert "base.html" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_template_compiles(name: str) -> None:
    environment().get_template(name)
