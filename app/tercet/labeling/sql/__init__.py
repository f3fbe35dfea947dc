"""The SQL that runs for every question and answer.

- `statements`: leasing and showing questions, counting progress; the parts that several statements share
- `together`: leasing questions to several labelers at once
- `answers`: storing answers, one or many
- `drivers`: sends several statements to PostgreSQL at once, and runs them on SQLite without SQLAlchemy
"""
