"""The parts of a long text that answer a question, in the order they stand in."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

GAP: Final = "\n[…]\n"
_BLOCK: Final = 1_500
"""Characters of a block; a longer paragraph is taken apart at its lines."""
_WORD: Final = re.compile(r"[^\W_]+")
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_HEADING: Final = re.compile(r"#{1,6} ")


def excerpts(text: str, query: str, room: int) -> str:
    """The best parts for `query` within `room` characters, gaps marked; empty when none of its
    words stands in the text."""
    blocks = _blocks(text)
    wanted = set(_terms(query))
    scores = _scores([_terms(block) for block in blocks], wanted)
    if not any(scores):
        return ""
    headings = _headings(blocks)
    taken: set[int] = set()
    left = room
    for index in sorted(range(len(blocks)), key=lambda i: -scores[i]):
        if not scores[index]:
            break
        new = {index, *headings[index]} - taken
        cost = sum(len(blocks[i]) + len(GAP) for i in new)
        if cost <= left:
            taken |= new
            left -= cost
    return _joined(blocks, sorted(taken))


def _joined(blocks: Sequence[str], taken: Sequence[int]) -> str:
    parts: list[str] = []
    last = -1
    for index in taken:
        if index != last + 1:
            parts.append(GAP)
        parts.append(blocks[index])
        last = index
    if taken and taken[-1] != len(blocks) - 1:
        parts.append(GAP)
    return "".join(parts).strip("\n")


def _blocks(text: str) -> list[str]:
    """Paragraphs with their line ends; code in fences stays together where it can."""
    found: list[str] = []
    block, fenced = "", False
    for line in text.split("\n"):
        block += f"{line}\n"
        if line.lstrip().startswith("```"):
            fenced = not fenced
        ended = not fenced and (not line.strip() or _HEADING.match(line))
        if ended or len(block) > _BLOCK:
            found.append(block)
            block = ""
    return [*found, block] if block else found


def _headings(blocks: Sequence[str]) -> list[list[int]]:
    """For each block the headings it stands under, the innermost two."""
    open_: list[tuple[int, int]] = []
    found: list[list[int]] = []
    for index, block in enumerate(blocks):
        found.append([at for _, at in open_[-2:]])
        last = block.rstrip("\n").rpartition("\n")[2]
        if match := _HEADING.match(last):
            level = len(match[0])
            open_ = [one for one in open_ if one[0] < level]
            open_.append((level, index))
    return found


def _terms(text: str) -> list[str]:
    """Words, folded; of scripts without spaces, pairs of characters."""
    folded = text.casefold()
    words = [_stem(word) for word in _WORD.findall(_CJK.sub(" ", folded))]
    for run in _CJK.findall(folded):
        words += [run[at : at + 2] for at in range(max(len(run) - 1, 1))]
    return words


def _stem(word: str) -> str:
    """Plurals of English count as the word."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _scores(blocks: Sequence[Sequence[str]], wanted: set[str]) -> list[float]:
    """BM25 with its usual constants (1.2 and 0.75)."""
    counts = [Counter(word for word in block if word in wanted) for block in blocks]
    holding = Counter(word for count in counts for word in count)
    mean = sum(map(len, blocks)) / max(len(blocks), 1) or 1
    weight = {w: math.log(1 + (len(blocks) - n + 0.5) / (n + 0.5)) for w, n in holding.items()}
    return [
        sum(
            weight[word] * n * 2.2 / (n + 1.2 * (0.25 + 0.75 * len(block) / mean))
            for word, n in count.items()
        )
        for block, count in zip(blocks, counts, strict=True)
    ]
