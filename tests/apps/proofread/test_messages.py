"""Every message of the application exists in both languages, and every kind of file has a name in both."""

from fanfold.apps.proofread.chinese import CHINESE, KINDS
from fanfold.apps.proofread.formats import source
from fanfold.apps.proofread.sentences import ENGLISH


def test_messages_are_there_in_both_languages() -> None:
    assert ENGLISH.keys() == CHINESE.keys()


def test_kinds_of_files_have_a_chinese_name() -> None:
    assert {name for _, name in source._KINDS} <= KINDS.keys()
