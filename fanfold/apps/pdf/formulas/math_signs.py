"""Says what each character of TeX's mathematical fonts is in LaTeX."""

from __future__ import annotations

import re
from dataclasses import dataclass

MATH_FONT = re.compile(
    r"^(?:CMMI|CMMIB|CMSY|CMBSY|CMEX|MSAM|MSBM|EUFM|EUSM|RSFS|LMMathItalic|LMMathSymbols|LMMathExtension)"
)
_ITALIC = re.compile(r"^(?:CMMI(?!B)|LMMathItalic)")
_BOLD_ITALIC = re.compile(r"^CMMIB")
_SYMBOLS = re.compile(r"^(?:CMSY|CMBSY|LMMathSymbols)")
_EXTENSION = re.compile(r"^(?:CMEX|LMMathExtension)")
_ROMAN = re.compile(r"^(?:CMR|LMRoman|SFRM|CMSS|LMSans)\d")
_BOLD = re.compile(r"^(?:CMBX|LMRoman\d+-Bold|SFBX)")

FUNCTIONS = frozenset((
    "arccos", "arcsin", "arctan", "arg", "cos", "cosh", "cot", "coth", "csc", "deg", "det", "dim", "exp", "gcd",
    "hom", "inf", "ker", "lim", "liminf", "limsup", "ln", "log", "max", "min", "Pr", "sec", "sin", "sinh",
    "sup", "tan", "tanh",
))  # fmt: skip
"""Names of functions that have a command of LaTeX."""
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ϵ": "epsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "ϑ": "vartheta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "mu", "ν": "nu", "ξ": "xi",
    "π": "pi", "ϖ": "varpi", "ρ": "rho", "ϱ": "varrho", "σ": "sigma", "ς": "varsigma", "τ": "tau", "υ": "upsilon",
    "φ": "varphi", "ϕ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "∆": "Delta",
    "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Υ": "Upsilon", "Φ": "Phi", "Ψ": "Psi",
    "Ω": "Omega", "\u2126": "Omega",
}  # fmt: skip
_SIGNS = {
    "−": "-", "·": r"\cdot", "⋅": r"\cdot", "×": r"\times", "∗": "*", "÷": r"\div", "±": r"\pm", "∓": r"\mp", "⊕": r"\oplus",
    "⊗": r"\otimes", "⊙": r"\odot", "◦": r"\circ", "∘": r"\circ", "•": r"\bullet", "≤": r"\leq", "≥": r"\geq",
    "≡": r"\equiv", "∼": r"\sim", "≈": r"\approx", "⊂": r"\subset", "⊃": r"\supset", "⊆": r"\subseteq", "⊇": r"\supseteq",
    "≪": r"\ll", "≫": r"\gg", "≺": r"\prec", "≻": r"\succ", "∈": r"\in", "∋": r"\ni", "→": r"\to", "←": r"\leftarrow",
    "↔": r"\leftrightarrow", "⇒": r"\Rightarrow", "⇐": r"\Leftarrow", "⇔": r"\Leftrightarrow", "↦": r"\mapsto",
    "∀": r"\forall", "∃": r"\exists", "¬": r"\neg", "∅": r"\emptyset", "∇": r"\nabla", "∞": r"\infty", "∝": r"\propto",
    "′": r"\prime", "∪": r"\cup", "∩": r"\cap", "∧": r"\wedge", "∨": r"\vee", "{": r"\{", "}": r"\}", "⟨": r"\langle",
    "⟩": r"\rangle", "〈": r"\langle", "〉": r"\rangle", "|": "|", "∥": r"\|", "‖": r"\|", "⊤": r"\top", "⊥": r"\perp",
    "\\": r"\setminus", "∖": r"\setminus", "†": r"\dagger", "‡": r"\ddagger", "ℓ": r"\ell", "∂": r"\partial",
    "ℜ": r"\Re", "ℑ": r"\Im", "⌊": r"\lfloor", "⌋": r"\rfloor", "⌈": r"\lceil", "⌉": r"\rceil", "⋆": r"\star",
    "⊢": r"\vdash", "≃": r"\simeq", "≅": r"\cong", "≜": r"\triangleq", "⩽": r"\leqslant", "⩾": r"\geqslant",
    "≲": r"\lesssim", "≳": r"\gtrsim", "ı": r"\imath", "ȷ": r"\jmath", "℘": r"\wp", "ℏ": r"\hbar", "□": r"\square",
    "∣": r"\mid", "…": r"\ldots", "⋯": r"\cdots",
}  # fmt: skip
_PLAIN = frozenset("0123456789()[]+=/,.;:!?<>*-")
_ACCENTS = {
    "ˆ": "hat", "^": "hat", "¯": "bar", "ˉ": "bar", "˜": "tilde", "~": "tilde", "˙": "dot", "¨": "ddot", "ˇ": "check",
    "˘": "breve", "⃗": "vec",
}  # fmt: skip
# Codes of TeX's font of large signs, whose characters have no names that readers know.
_OPERATORS = {
    "F": "bigsqcup", "G": "bigsqcup", "J": "bigodot", "K": "bigodot", "L": "bigoplus", "M": "bigoplus", "N": "bigotimes",
    "O": "bigotimes", "P": "sum", "Q": "prod", "S": "bigcup", "T": "bigcap", "U": "biguplus", "V": "bigwedge", "W": "bigvee",
    "X": "sum", "Y": "prod", "[": "bigcup", "\\": "bigcap", "]": "biguplus", "^": "bigwedge", "_": "bigvee", "`": "coprod",
    "a": "coprod", "∑": "sum", "∏": "prod",
}  # fmt: skip
_INTEGRALS = {"R": "int", "Z": "int", "H": "oint", "I": "oint", "∫": "int", "∮": "oint"}
_FENCES = ("(", ")", "[", "]", r"\lfloor", r"\rfloor", r"\lceil", r"\rceil", r"\{", r"\}", r"\langle", r"\rangle")
_LARGE = {
    **{chr(code): sign for code, sign in enumerate(_FENCES)},
    "\x0c": "|", "\x0d": r"\|", "\x0e": "/",
    "\x10": "(", "\x11": ")",
    **{chr(18 + code): sign for code, sign in enumerate(_FENCES)},
    **{chr(32 + code): sign for code, sign in enumerate(_FENCES)},
    "h": "[", "i": "]", "j": r"\lfloor", "k": r"\rfloor", "l": r"\lceil", "m": r"\rceil", "n": r"\{", "o": r"\}",
    "D": r"\langle", "E": r"\rangle",
}  # fmt: skip
_RADICALS = frozenset("pqrs√")


@dataclass(slots=True)
class Sign:
    """A character or a part of a formula that is already written, and its place on the displayed page."""

    latex: str
    x0: float
    x1: float
    top: float
    bottom: float
    base: float
    size: float
    kind: str = "plain"
    """`plain`, `roman` (letters of words), `operator` (with limits), `integral`, `radical`, `accent` or `large`."""


def latex_of(text: str, font: str) -> tuple[str, str] | None:
    """LaTeX and kind of a character; None if it is not known for certain."""
    if _EXTENSION.match(font):
        return _extension(text)
    if text in _ACCENTS and (_ROMAN.match(font) or _BOLD.match(font) or text == "⃗"):
        return "\\" + _ACCENTS[text], "accent"
    if text in _GREEK and not _BOLD.match(font):
        letter = "\\" + _GREEK[text]
        return (rf"\boldsymbol{{{letter}}}" if _BOLD_ITALIC.match(font) else letter), "plain"
    if text == "\u0338":
        return r"\not", "accent"
    if text == "√":
        return "", "radical"
    if len(text) == 1 and text.isascii() and text.isalpha():
        return _letter(text, font)
    if text in _SIGNS:
        return _SIGNS[text], "plain"
    if text in _PLAIN and (_ROMAN.match(font) or _ITALIC.match(font)):
        return text, "plain"
    if text.isdigit() and text.isascii() and _BOLD.match(font):
        return rf"\mathbf{{{text}}}", "plain"
    return None


def _extension(text: str) -> tuple[str, str] | None:
    if text in _RADICALS:
        return "", "radical"
    if text in _OPERATORS:
        return "\\" + _OPERATORS[text], "operator"
    if text in _INTEGRALS:
        return "\\" + _INTEGRALS[text], "integral"
    return (_LARGE[text], "large") if text in _LARGE else None


def _letter(text: str, font: str) -> tuple[str, str] | None:
    if _BOLD_ITALIC.match(font):
        return rf"\boldsymbol{{{text}}}", "plain"
    if _ITALIC.match(font):
        return text, "plain"
    if _ROMAN.match(font):
        return text, "roman"
    if _BOLD.match(font):
        return rf"\mathbf{{{text}}}", "plain"
    if text.isupper() and _SYMBOLS.match(font):
        return rf"\mathcal{{{text}}}", "plain"
    if text.isupper() and font.startswith("MSBM"):
        return rf"\mathbb{{{text}}}", "plain"
    if font.startswith("EUFM"):
        return rf"\mathfrak{{{text}}}", "plain"
    if text.isupper() and font.startswith(("RSFS", "EUSM")):
        return rf"\mathscr{{{text}}}", "plain"
    return None
