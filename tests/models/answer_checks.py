"""Check that the messages of a request satisfy the rules of OpenAI and Anthropic."""

import json

from gatechart.models.outgoing import ANY_ID
from gatechart.tools.naming import MODEL_NAME


def check_chat(messages):
    """Check what OpenAI demands of the messages of a request."""
    waiting = []
    for each in messages:
        if each["role"] == "tool":
            assert each["tool_call_id"] == waiting.pop(0)
            assert isinstance(each["content"], str)
            continue
        assert not waiting
        assert each["role"] in {"user", "assistant"}
        assert each.get("content") or each.get("tool_calls")
        for call in each.get("tool_calls") or ():
            assert ANY_ID.fullmatch(call["id"])
            waiting.append(call["id"])
            if call["type"] == "function":
                assert MODEL_NAME.fullmatch(call["function"]["name"])
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert not waiting


def check_messages(messages):
    """Check what Anthropic demands of the messages of a request."""
    assert [each["role"] for each in messages] == (["user", "assistant"] * len(messages))[: len(messages)]
    waiting = []
    for each in messages:
        assert each["content"]
        for block in each["content"]:
            assert block["type"] != "text" or block["text"].strip()
            if block["type"] == "tool_result":
                waiting.remove(block["tool_use_id"])
        assert not waiting
        for block in each["content"]:
            if block["type"] == "tool_use":
                assert ANY_ID.fullmatch(block["id"])
                assert MODEL_NAME.fullmatch(block["name"])
                assert isinstance(block["input"], dict)
                waiting.append(block["id"])
    assert not waiting
