"""The texts for people: JSON files by code, one a language in each folder. Imports nothing."""

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
"""The files in the folder itself are for all pages and programs, those of a subfolder for some."""
