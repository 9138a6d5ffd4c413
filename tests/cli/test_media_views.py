"""Images and files in views: type and size, and never their bytes."""

import pytest

from gatechart.cli.handoff_views import print_conversation
from gatechart.handoff import MediaPart, Message, TextPart, ToolCall


def test_a_conversation_shows_the_type_and_the_size_of_an_image(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a message and of the result of a call."""
    image = MediaPart(media_type="image/png", digest="0" * 64, size=12_345)
    call = ToolCall(name="draw", output="[image/gif, 7 bytes]", parts=(MediaPart(media_type="image/gif", data="AAAA"),))
    shown = Message(role="user", content="look", parts=(TextPart(text="look"), image), tool_calls=(call,))
    print_conversation([shown])
    told = capsys.readouterr().out
    assert "look" in told
    assert "[image/png, 12,345 bytes]" in told
    assert "[image/gif, 7 bytes]" in told
    assert "AAAA" not in told
