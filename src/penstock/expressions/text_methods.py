"""The methods of expressions that are texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.expressions.argument_checks import check_integer, check_pattern, check_text, refused
from penstock.expressions.expression_methods import ExpressionMethods
from penstock.expressions.regular_expressions import capturing_groups, check_like, check_replacement
from penstock.expressions.text_functions import Digest, FormatNumber, TextMethod

if TYPE_CHECKING:
    from penstock.expressions.expression import Expression


class TextMethods(ExpressionMethods):
    """Methods of texts. Places count from 0, and None stays None."""

    def upper(self) -> Expression:
        """The text in capitals, as `str.upper`."""
        return self._made(TextMethod("upper"))

    def lower(self) -> Expression:
        """The text in small letters, as `str.lower`."""
        return self._made(TextMethod("lower"))

    def length(self) -> Expression:
        """The number of characters."""
        return self._made(TextMethod("length"))

    def reverse(self) -> Expression:
        """The characters in the opposite order, as `text[::-1]`."""
        return self._made(TextMethod("reverse"))

    def contains(self, text: str) -> Expression:
        """Whether the text contains another."""
        return self._with_text("contains", text)

    def startswith(self, prefix: str) -> Expression:
        """Whether the text starts with another."""
        return self._with_text("startswith", prefix)

    def endswith(self, suffix: str) -> Expression:
        """Whether the text ends with another."""
        return self._with_text("endswith", suffix)

    def find(self, text: str) -> Expression:
        """Where another text is found first; -1 where it is not, as `str.find`."""
        return self._with_text("find", text)

    def substring(self, start: int, length: int | None = None) -> Expression:
        """A part of the text: `text[start:][:length]`. The first character is 0; -1 is the last.

        >>> from penstock.expressions import col
        >>> col("iban").substring(0, 2)
        col("iban").substring(0, 2)
        """
        check_integer("substring", "a place to start at", start)
        if length is not None:
            check_integer("substring", "a length from 0", length, least=0)
        return self._made(TextMethod("substring", (start, length)))

    def trim(self, characters: str | None = None) -> Expression:
        """The text without whitespace, or without the given characters, at both ends."""
        return self._trimmed("trim", characters)

    def ltrim(self, characters: str | None = None) -> Expression:
        """The text without whitespace, or without the given characters, at its start."""
        return self._trimmed("ltrim", characters)

    def rtrim(self, characters: str | None = None) -> Expression:
        """The text without whitespace, or without the given characters, at its end."""
        return self._trimmed("rtrim", characters)

    def lpad(self, width: int, fill: str = " ") -> Expression:
        """The text with characters before it, up to a width, as `str.rjust`; a longer text stays as it is.

        >>> from penstock.expressions import col
        >>> col("n").cast(str).lpad(5, "0")
        col("n").cast(String).lpad(5, "0")
        """
        return self._padded("lpad", width, fill)

    def rpad(self, width: int, fill: str = " ") -> Expression:
        """The text with characters behind it, up to a width, as `str.ljust`; a longer text stays as it is."""
        return self._padded("rpad", width, fill)

    def repeat(self, times: int) -> Expression:
        """The text several times, one behind the other."""
        return self._made(TextMethod("repeat", (check_integer("repeat", "a number from 0", times, least=0),)))

    def replace(self, old: str, new: str) -> Expression:
        """The text with every occurrence of `old` replaced."""
        check_text("replace", old, may_be_empty=False)
        return self._with_text("replace", old, new)

    def split(self, separator: str) -> Expression:
        """The parts of the text between separators, a list, as `str.split`."""
        check_text("split", separator, may_be_empty=False)
        return self._with_text("split", separator)

    def like(self, pattern: str) -> Expression:
        r"""Whether the whole text matches SQL's LIKE: `%` is any text, `_` any character, `\` makes the next plain."""
        check_like("like", check_text("like", pattern))
        return self._with_text("like", pattern)

    def regexp(self, pattern: str) -> Expression:
        """Whether a regular expression is found in the text; RE2's syntax: Python's without look-around."""
        check_pattern("regexp", pattern)
        return self._with_text("regexp", pattern)

    def regexp_extract(self, pattern: str, group: int = 1) -> Expression:
        r"""What a group of a regular expression has found first; 0 is the whole match.

        None where the pattern is not found; the empty text where the group takes no part in what was found.

        >>> from penstock.expressions import col
        >>> col("url").regexp_extract(r"https?://([^/]+)")
        col("url").regexp_extract("https?://([^/]+)", 1)
        """
        check_pattern("regexp_extract", pattern)
        groups = capturing_groups(pattern)
        if check_integer("regexp_extract", "the number of a group", group, least=0) > groups:
            raise refused(f"regexp_extract: {pattern!r} has {groups} groups, and group {group} is asked for")
        return self._made(TextMethod("regexp_extract", (pattern, group)))

    def regexp_replace(self, pattern: str, replacement: str) -> Expression:
        r"""The text with every match of a regular expression replaced; `\1` is what the first group found."""
        check_pattern("regexp_replace", pattern)
        check_replacement("regexp_replace", pattern, check_text("regexp_replace", replacement))
        return self._with_text("regexp_replace", pattern, replacement)

    def format_number(self, digits: int = 0) -> Expression:
        """A number as text, with so many digits behind the point and commas between thousands.

        >>> from penstock.expressions import col
        >>> col("price").format_number(2)
        col("price").format_number(2)
        """
        return self._made(FormatNumber(check_integer("format_number", "a number of digits from 0", digits, least=0)))

    def md5(self) -> Expression:
        """The MD5 digest of a text, or of bytes, in hexadecimal digits. Not for secrets."""
        return self._made(Digest("md5"))

    def sha256(self) -> Expression:
        """The SHA-256 digest of a text, or of bytes, in hexadecimal digits."""
        return self._made(Digest("sha256"))

    def _with_text(self, method: str, *texts: str) -> Expression:
        return self._made(TextMethod(method, tuple(check_text(method, text) for text in texts)))

    def _trimmed(self, method: str, characters: str | None) -> Expression:
        if characters is not None:
            check_text(method, characters, may_be_empty=False)
        return self._made(TextMethod(method, (characters,)))

    def _padded(self, method: str, width: int, fill: str) -> Expression:
        check_integer(method, "a width", width)
        if len(check_text(method, fill)) != 1:
            raise refused(f"{method} fills up with one character, got {fill!r}")
        return self._made(TextMethod(method, (width, fill)))
