"""Colours for texts of stages, by Pygments: each line as a list of pieces of one kind."""

from __future__ import annotations

from typing import Any

from ..errors import CallValueError

_LEXERS = {"loss": "python", "llvm": "llvm", "asm": "gas", "ptx": "gas"}  # other stages are MLIR


def coloured(stage: str, text: str) -> list[list[str]]:
    """Lines as [kind, piece, kind, piece, ...]. Kinds are class names of Pygments' style sheets,
    "" for plain text.

    Args:
        stage: whose text it is, or "loss".
        text: of the stage.
    """
    pygments = needed()
    lexer = pygments.lexers.get_lexer_by_name(_LEXERS[stage], stripnl=False) if stage in _LEXERS else _mlir()
    short = pygments.token.STANDARD_TYPES
    lines: list[list[str]] = [[]]
    for token, piece in lexer.get_tokens(text):
        for number, part in enumerate(piece.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1] += [short.get(token, ""), part]
    return lines


def style_sheet(style: str, scope: str) -> str:
    """CSS for the kinds of pieces.

    Args:
        style: of Pygments.
        scope: a selector that the rules hold under.
    """
    rules = needed().formatters.HtmlFormatter(style=style).get_style_defs(scope).splitlines()
    # The page has a background of its own.
    return "\n".join(rule for rule in rules if rule.startswith(f"{scope} ."))


def needed() -> Any:
    """Pygments.

    Raises:
        CallValueError: it is not installed.
    """
    try:
        import pygments.formatters
        import pygments.lexers
        import pygments.token
    except ImportError:
        raise CallValueError(
            "a page of a loss needs Pygments, which is not installed; pip install 'logitile[view]'"
        ) from None
    return pygments


def _mlir() -> Any:
    """A lexer for MLIR, which Pygments has none for."""
    from pygments.lexer import RegexLexer, bygroups
    from pygments.token import Comment, Keyword, Name, Number, String, Text

    class MLIRLexer(RegexLexer):
        name = "MLIR"
        tokens = {
            "root": [
                (r"//[^\n]*", Comment.Single),
                (r'"[^"\n]*"', String),
                (r"[%^][\w$.#-]+", Name.Variable),
                (r"@[\w$.-]+", Name.Function),
                (r"[#!][\w.]+", Name.Class),
                (r"\b(bf16|f16|f32|f64|i\d+|index|vector|memref|tensor)\b", Keyword.Type),
                (r"0x[0-9A-Fa-f]+|-?\b\d[\d.]*([eE][+-]?\d+)?", Number),
                (r"\b([a-z_]+)(\.)([a-z_][\w.]*)", bygroups(Name.Namespace, Text, Keyword)),
                (r"[A-Za-z_][\w]*", Text),
                (r"\s+|.", Text),
            ]
        }

    return MLIRLexer(stripnl=False)
