"""The statements of every question and answer, and how they are run.

- `statements`: leasing and showing questions, counting progress; the pieces that several statements share
- `answers`: the one way in which answers are stored
- `drivers`: several statements on one journey to PostgreSQL, and past SQLAlchemy to SQLite
"""
