"""Guards between a page and its Markdown: no text is lost without being said, and none is taken for chatter."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

GLYPHS, TURNING = "fanfold/apps/pdf/characters/glyphs.py", "fanfold/apps/pdf/reading/angles.py"
RUNNING, PROOF, NUMBERS = (
    "fanfold/apps/pdf/markdown/running_lines.py",
    "fanfold/apps/pdf/markdown/running_survey.py",
    "fanfold/apps/pdf/markdown/page_numbers.py",
)
ANSWERS = "fanfold/apps/pdf/pages/page_checks.py"
TEXTLAYER, FONTS, PIPELINE = (
    "fanfold/apps/pdf/pages/textlayer.py",
    "fanfold/apps/pdf/reading/fonts.py",
    "fanfold/apps/pdf/pipeline.py",
)
CHATTER = "fanfold/model/values/chatter.py"
KEPT = "apps/pdf/test_keeping.py::"
PROVEN = "apps/pdf/test_running_lines.py::"

MUTANTS = (
    mutant(
        "slanted type counts as level",
        Edit(TURNING, "return 0.0 if height < line + rise / 2 else angle", "return angle"),
        test=f"{KEPT}test_slanted_type_is_text_like_any_other",
    ),
    mutant(
        "a crooked page is turned back",
        Edit(TURNING, "return mean if abs(mean) > _LEVEL else 0.0", "return 0.0"),
        test=f"{KEPT}test_words_of_a_skewed_line_stand_on_one_line_again",
    ),
    mutant(
        "text at another angle is kept",
        Edit(TEXTLAYER, "*(block for column in aside for block in blocks.group(column)), ", ""),
        test=f"{KEPT}test_text_that_runs_up_the_margin_of_one_page_is_kept",
    ),
    mutant(
        "a stamp recurs",
        Edit(PROOF, "if is_new and len(near) >= _REPEATED and", "if is_new and"),
        test=f"{KEPT}test_text_that_runs_up_the_margin_of_one_page_is_kept",
    ),
    mutant(
        "a stamp is in the margin",
        Edit(RUNNING, "if row.y1 < edge or row.y0 > group.height - edge]", "]"),
        test=f"{KEPT}test_turned_text_within_the_page_is_kept_however_often_it_is_repeated",
    ),
    mutant(
        "a page of which the layout engine lost text is read again",
        Edit(
            GLYPHS,
            "if read is not None and not own.letters - letters(read.text):",
            "if read is not None:",
        ),
        test=f"{KEPT}test_letters_under_accents_of_their_own_are_kept",
    ),
    mutant(
        "a page of which the layout engine confused digits is read again",
        Edit(
            GLYPHS,
            " and (few or share_kept(digits, [read.text]) >= _ENOUGH)",
            " and (few or len(digits) > 0)",
        ),
        test=f"{KEPT}test_digits_that_the_layout_engine_confused_are_read_again",
    ),
    mutant(
        "what is drawn twice is read once",
        Edit(
            GLYPHS, "            if not is_twice:\n                found", "            if True:\n                found"
        ),
        test=f"{KEPT}test_pdfium_reads_once_what_is_drawn_twice",
    ),
    mutant(
        "lost text is reported",
        Edit(TEXTLAYER, "return reason(lost) if lost > MOST_LOST else None", "return None"),
        test=f"{KEPT}test_lost_text_is_said",
    ),
    mutant(
        "a header stands at the edge of its page",
        Edit(RUNNING, "elif behind_text or not _repeats(row, page, places):", "elif not _repeats(row, page, places):"),
        test=f"{KEPT}test_a_line_that_recurs_below_other_text_is_no_header",
    ),
    mutant(
        "a line of a paragraph is not a header",
        Edit(RUNNING, "while running and _goes_on(running[-1], page, [*running, *numbered]):", "while False:"),
        test=f"{KEPT}test_a_short_line_at_the_top_of_a_paragraph_is_no_header_however_often_it_recurs",
    ),
    mutant(
        "a number in a column is not a page number",
        Edit(NUMBERS, " and not _is_in_a_column(number, page)", ""),
        test=f"{KEPT}test_the_last_entry_of_a_list_with_numbers_is_no_footer",
    ),
    mutant(
        "a running line stands beside enough other text",
        Edit(PROOF, "if not length or length < _BESIDE * total:", "if not length:"),
        test=f"{PROVEN}test_slides_of_one_word_keep_the_title_that_all_have",
    ),
    mutant(
        "forms prove no running line",
        Edit(PROOF, "    if length >= MUCH_TEXT:", "    if True:"),
        test=f"{PROVEN}test_certificates_keep_their_titles_names_and_signatures",
    ),
    mutant(
        "copies of a page prove no running line",
        Edit(PROOF, " and len(set(proofs)) > 1", ""),
        test=f"{PROVEN}test_copies_of_a_long_notice_keep_its_title",
    ),
    mutant(
        "a page is not emptied of its running lines",
        Edit(RUNNING, "if not _leaves_enough(page, gone):", "if False:"),
        test=f"{PROVEN}test_a_page_that_has_only_running_lines_keeps_them",
    ),
    mutant(
        "a title in large type is not a running line",
        Edit(PROOF, "if body is None or not is_title(known, type_size, body):", "if True:"),
        test=f"{PROVEN}test_a_title_in_large_type_is_kept_however_often_it_recurs",
    ),
    mutant(
        "text beside a running head is kept where it would otherwise be lost",
        Edit(RUNNING, "            unproven = []\n", "            pass\n"),
        test=f"{PROVEN}test_the_title_of_a_section_beside_a_running_head_is_kept_where_it_would_be_missed",
    ),
    mutant(
        "the last row of a table is not a footer",
        Edit(RUNNING, "return _is_in_a_table(row, others)", "return False"),
        test=f"{PROVEN}test_the_last_row_of_a_table_is_kept_however_often_it_recurs",
    ),
    mutant(
        "page numbers count the pages",
        Edit(NUMBERS, "        if self._can_compare:\n", "        if False:\n"),
        test=f"{PROVEN}test_numbers_at_the_edge_that_do_not_count_the_pages_are_kept",
    ),
    mutant(
        "an answer with none of the page's few words is refused",
        Edit(ANSWERS, " or share < LEAST_SHARE_OF_FEW", ""),
        test=f"{PROVEN}test_an_answer_without_the_words_of_a_notice_is_refused",
    ),
    mutant(
        "characters without a font are measured",
        Edit(FONTS, "return found or (_FRAME_FONT if charset in _CJK_CHARSETS else None)", "return found"),
        test=f"{KEPT}test_chinese_that_is_drawn_sign_by_sign_in_a_font_that_is_not_there_is_kept",
        note="on a machine without Chinese fonts",
    ),
    mutant(
        "a page that lost text is degraded",
        Edit(PIPELINE, "        item.degraded(lost)\n", "        pass\n"),
        test="apps/pdf/test_pipeline.py::test_a_page_that_lost_text_is_degraded_in_item_task_and_report",
    ),
    mutant(
        "a line that the document may have said stays",
        Edit(CHATTER, "return about is not None or (greeted", "return True or (greeted"),
        test="model/test_chatter.py::test_nothing_of_a_document_is_cut",
    ),
    mutant(
        "letters that share a glyph keep their order from right to left",
        Edit(
            "fanfold/apps/pdf/characters/right_to_left.py",
            "found[-1].text, found[-1].indexes = text + found[-1].text, ",
            "found[-1].text, found[-1].indexes = found[-1].text + text, ",
        ),
        test="apps/pdf/test_right_to_left.py::test_a_glyph_of_two_letters_keeps_their_order",
    ),
    mutant(
        "numbered formulas are no table",
        Edit("fanfold/apps/pdf/tables/judging.py", "        _is_numbered_formulas(table),\n", ""),
        test="apps/pdf/test_labels.py::test_numbered_formulas_are_no_table",
    ),
    mutant(
        "a sign that is not known keeps a formula text",
        Edit(
            "fanfold/apps/pdf/formulas/inline_math.py",
            " and not any(map(_is_unknown, beside))",
            "",
        ),
        test="apps/pdf/test_formulas.py::test_what_is_not_certain_stays_text",
    ),
    mutant(
        "a table with another header is not joined",
        Edit(
            "fanfold/apps/pdf/output/table_joining.py",
            "if _is_row(_cells(first[0]), last):",
            "if last:",
        ),
        test="apps/pdf/test_stitching.py::test_other_tables_stay_apart",
    ),
)
