"""Makes text of a page or a PDF of the web: a program of its own, which imports nothing of ours.

`python -I converter.py html|pdf ADDRESS < bytes > text`. What comes from strangers is parsed here,
where it can be ended: some 2 MB of HTML keep the parser busy for ten seconds, and a PDF can do so
for ever.
"""

import sys
from io import BytesIO

MEMORY = 2 << 30
"""Bytes of address space."""
PAGES = 500
"""Of a PDF."""


def main(kind: str, address: str) -> None:
    _confine()
    data = sys.stdin.buffer.read()
    text = _pdf(data) if kind == "pdf" else _html(data.decode("utf-8", "replace"), address)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def _confine() -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _html(text: str, address: str) -> str:
    from html_to_markdown import ConversionOptions, InlineDataMedia, convert

    options = ConversionOptions(
        base_url=address,
        extract_metadata=False,
        inline_data_media=InlineDataMedia.ALT_TEXT_ONLY,
        max_depth=2_000,
    )
    return convert(text, options).content or ""


def _pdf(data: bytes) -> str:
    import logging

    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    reader = PdfReader(BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        return ""
    count = len(reader.pages)
    pages = [
        f"## Page {number}\n\n{page.extract_text().strip()}"
        for number, page in enumerate(reader.pages[:PAGES], 1)
    ]
    more = f"\n\n[{count - PAGES} more pages are left out]" if count > PAGES else ""
    title = reader.metadata.title if reader.metadata else None
    head = f"# {title}\n\n" if title else ""
    return head + "\n\n".join(pages) + more if any(_said(page) for page in pages) else ""


def _said(page: str) -> str:
    return page.partition("\n\n")[2]


if __name__ == "__main__":
    main(*sys.argv[1:])
