"""A tagged PDF says itself what is a heading, however it is set."""

from pathlib import Path

from fanfold.apps.pdf.pages.textlayer import convert
from fanfold.apps.pdf.reading import document
from tests.apps.pdf.writing import Pdf, Sheet

PROSE = "The stations of the valley report values that vary more than the older series had suggested to its readers."


def tagged(path: Path, kind: str) -> Path:
    """A page whose first line is an element of this kind, in the type of the text."""
    sheet = Sheet()
    sheet.operators.append(f"/{kind} << /MCID 0 >> BDC")
    sheet.lines(["What the stations say"])
    sheet.operators.append("EMC /P << /MCID 1 >> BDC")
    sheet.paragraph(PROSE)
    sheet.operators.append("EMC")
    pdf = Pdf([sheet])
    page = next(n for n, (content, _) in enumerate(pdf.objects, 1) if "/Type /Page " in content)
    root, tree = pdf.add(""), pdf.add("")
    parts = [
        pdf.add(f"/Type /StructElem /S /{name} /P {root} 0 R /Pg {page} 0 R /K {number}")
        for number, name in enumerate((kind, "P"))
    ]
    both = " ".join(f"{part} 0 R" for part in parts)
    pdf.put(root, f"/Type /StructTreeRoot /K [{both}] /ParentTree {tree} 0 R")
    pdf.put(tree, f"/Nums [0 [{both}]]")
    pdf.put(page, pdf.objects[page - 1][0] + " /StructParents 0")
    pdf.put(1, pdf.objects[0][0] + f" /MarkInfo << /Marked true >> /StructTreeRoot {root} 0 R")
    path.write_bytes(pdf.written())
    return path


def test_a_heading_of_the_structure_tree_is_a_heading_whatever_its_type(tmp_path: Path) -> None:
    for kind, expected in (("H2", "# What the stations say"), ("P", "What the stations say")):
        path = tagged(tmp_path / f"{kind}.pdf", kind)
        examined = document.examine(path)
        (page,) = convert(path, examined.pages, examined.survey)
        assert page.markdown.split("\n")[0].rstrip() == expected
