"""Looks whether a database file is whole, without changing it."""

import sqlite3
from pathlib import Path


def damage(file: Path) -> str:
    """What is wrong with the file, in the database's words; empty when nothing is."""
    try:
        db = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
        try:
            answer = str(db.execute("PRAGMA quick_check").fetchone()[0])
        finally:
            db.close()
    except sqlite3.Error as error:
        return str(error)
    return "" if answer == "ok" else answer
