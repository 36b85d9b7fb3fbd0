"""Guards between a document and the table: nothing is believed that the document does not say, and no file does harm."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

ROOM = "fanfold/apps/extract"
LOCATING, NUMBERS = f"{ROOM}/evidence/locating.py", f"{ROOM}/evidence/numbers.py"
ARCHIVES, JUDGING = f"{ROOM}/documents/archives.py", f"{ROOM}/asking/judging.py"
VALUES, XLSX, DUPLICATES = f"{ROOM}/table/values.py", f"{ROOM}/table/xlsx_file.py", f"{ROOM}/table/duplicates.py"
FOUND, REFUSED, TABLE = (
    "apps/extract/test_evidence.py::",
    "apps/extract/test_sources.py::",
    "apps/extract/test_table.py::",
)

MUTANTS = (
    mutant(
        "a quote with other numbers than the text is weak",
        Edit(LOCATING, "return missing_numbers(quote, text) or _negations", "return _negations"),
        test=f"{FOUND}test_a_quote_with_other_numbers_or_another_negation_is_weak_at_most",
    ),
    mutant(
        "a quote with another negation is weak",
        Edit(LOCATING, "missing_numbers(quote, text) or _negations(quote) != _negations(text)", "missing_numbers(quote, text)"),
        test=f"{FOUND}test_a_quote_with_other_numbers_or_another_negation_is_weak_at_most",
    ),
    mutant(
        "a short quote counts at its line only",
        Edit(LOCATING, "return _judged_short(best, size, near) if size < _SHORT else best", "return best"),
        test=f"{FOUND}test_a_short_quote_counts_at_its_line_only",
    ),
    mutant(
        "a short quote is a whole word or number",
        Edit(LOCATING, "(size >= _SHORT or _is_whole(document, place))", "True"),
        test=f"{FOUND}test_a_short_quote_is_not_found_within_a_word_or_a_number",
    ),
    mutant(
        "the sign of a number counts",
        Edit(NUMBERS, 'return -number if match["sign"] else number', "return number"),
        test=f"{FOUND}test_a_number_that_is_not_there_is_not_found",
    ),
    mutant(
        "the numbers of a text are in its quote",
        Edit(JUDGING, "if not digits_in(value, text):", "if False:"),
        test="apps/extract/test_judging.py::test_a_text_that_its_quote_does_not_say_is_weak",
    ),
    mutant(
        "no path leads out of an archive",
        Edit(ARCHIVES, "if _TRICKS.search(member.filename) or _TRICKS.search(name):", "if False:"),
        test=f"{REFUSED}test_paths_that_lead_out_of_an_archive_are_refused",
    ),
    mutant(
        "a bomb is known by its ratio",
        Edit(ARCHIVES, "if member.file_size > _HARMLESS and ratio > MOST_RATIO:", "if False:"),
        test=f"{REFUSED}test_a_bomb_is_refused_by_its_ratio_and_by_what_it_really_unpacks_to",
    ),
    mutant(
        "an archive has a limit for all files together",
        Edit(ARCHIVES, "if self.bytes > MOST_BYTES:", "if False:"),
        test=f"{REFUSED}test_an_archive_has_a_limit_for_all_files_together",
    ),
    mutant(
        "no text of a CSV file is a formula",
        Edit(VALUES, "if _FORMULA.match(text) and not _PLAIN_NUMBER.fullmatch(text):", "if False:"),
        test=f"{TABLE}test_csv_runs_no_formula_and_keeps_numbers",
    ),
    mutant(
        "no text of a workbook is a formula",
        Edit(XLSX, "sheet.write_string(row, column, _shortened(written(value)), style)",
             "sheet.write_formula(row, column, _shortened(written(value)), style)"),
        test=f"{TABLE}test_a_workbook_holds_hostile_text_as_text",
    ),
    mutant(
        "parts of a series are not duplicates",
        Edit(DUPLICATES, "if one.numerals != other.numerals:", "if False:"),
        test="apps/extract/test_duplicates.py::test_parts_of_a_series_are_not_duplicates",
    ),
    mutant(
        "the chapters of a book share its DOI",
        Edit(DUPLICATES, "for same in _together(group, _same_title_or_none):", "for same in [group] * (len(group) > 1):"),
        test="apps/extract/test_duplicates.py::test_chapters_that_share_the_doi_of_their_book_are_not_suggested",
    ),
)  # fmt: skip
