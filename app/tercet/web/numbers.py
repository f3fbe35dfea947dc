"""Integer types for requests, bounded as the columns of the database are: larger numbers cannot be looked up.

Handlers and schemas use these types instead of `int`, with narrower bounds where there are any.
"""

from typing import Annotated

from pydantic import Field

LARGEST = 2**31 - 1  # what PostgreSQL stores as an integer
LARGEST_BYTES = 2**53

Count = Annotated[int, Field(ge=0, le=LARGEST)]
# The number of a row, a run, a cluster or a person: they are counted from 1.
Id = Annotated[int, Field(ge=1, le=LARGEST)]
# The row of an item, counted from 0; -1 stands before the first.
Position = Annotated[int, Field(ge=-1, le=LARGEST)]
# The size of a file, and a place in one: what PostgreSQL stores as a big integer, and JSON as an exact number.
Bytes = Annotated[int, Field(ge=0, le=LARGEST_BYTES)]
