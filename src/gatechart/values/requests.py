"""What others ask of the owner of a database."""

from __future__ import annotations

from datetime import datetime

from gatechart.values.frozen import value


@value
class Request:
    """A call that somebody asks the owner of the database to carry out."""

    id: str  # the asker's own, like no other
    asker: str  # what one asker asks is carried out in order
    call: str  # JSON text
    until: datetime  # it is not begun later
    number: int = 0  # in the order asked, in a store
