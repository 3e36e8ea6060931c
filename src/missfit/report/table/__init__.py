"""The report on a table: one file for each section, `report` for the whole page."""
