"""An estimate of tokens, where a provider counts none."""


def estimate_tokens(text: str) -> int:
    """About four characters of Latin text a token, and one of anything else."""
    if text.isascii():
        return (len(text) + 3) // 4
    wide = sum(1 for character in text if character > "\u02ff")
    return wide + (len(text) - wide + 3) // 4
