"""Every document of the folder does what its head says, after W3C SCXML sections 3 to 6 and Appendix D."""

import pytest

from gatechart.contrib.scxml import read
from gatechart.testing.rehearsal import rehearse

from .script import DOCUMENTS, play, script_of


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
async def test_the_document_goes_where_the_standard_says(path):
    script = script_of(path)
    async with rehearse(read(path)) as rehearsal:
        await play(script, rehearsal)


def test_there_are_enough_documents():
    assert len(DOCUMENTS) >= 100
