"""Messages about the table, by code, in English and Chinese. The catalogue of the application includes them."""

from __future__ import annotations

import fanfold as ff

ENGLISH: dict[str, str] = {
    "needs_parquet": "Parquet files need an extra: pip install 'fanfold[parquet]'. CSV, XLSX and JSONL need none.",
    "gold_empty": "The file {file} has no rows with known values. Its first line names the columns.",
    "gold_no_document": "The file {file} has no column `document` (or `source`, `name`, `file`). It has: {columns}.",
    "gold_no_field": "The file {file} has no column of the table. The table has: {columns}.",
    "duplicate_file": "The same file {count} times",
    "duplicate_doi": "The same DOI {doi}",
    "duplicate_title": "Nearly the same title, author and year: {title}",
}
CHINESE: dict[str, str] = {
    "needs_parquet": "Parquet 文件需要附加组件：pip install 'fanfold[parquet]'。CSV、XLSX 和 JSONL 不需要。",
    "gold_empty": "文件 {file} 没有已知值的数据行。第一行是列名。",
    "gold_no_document": "文件 {file} 没有 `document` 列（或 `source`、`name`、`file`）。它有：{columns}。",
    "gold_no_field": "文件 {file} 没有表格中的列。表格有：{columns}。",
    "duplicate_file": "同一文件出现 {count} 次",
    "duplicate_doi": "DOI 相同：{doi}",
    "duplicate_title": "标题、作者和年份几乎相同：{title}",
}
say_of_table = ff.Catalogue("extract", ENGLISH, {"zh": CHINESE})
"""Builds a message about the table."""
