"""The official `anthropic` SDK against the fake."""

import anthropic
from pydantic import BaseModel

from said import DESCRIPTION, QUESTION, RESULT, SCHEMA, SYSTEM, TOOL, arguments, raised, say

MODEL = "claude-sonnet-5"


class Verdict(BaseModel):
    verdict: str
    score: int
    reasons: list[str]


def client(key="sk-ant-test"):
    return anthropic.Anthropic(base_url=arguments(), api_key=key, max_retries=0)


def messages():
    return [{"role": "user", "content": QUESTION}]


def tools():
    return [{"name": TOOL, "description": DESCRIPTION, "input_schema": SCHEMA, "strict": True}]


def system():
    return [{"type": "text", "text": SYSTEM * 200, "cache_control": {"type": "ephemeral"}}]


def structured():
    message = client().messages.parse(
        model=MODEL, max_tokens=1000, system=system(), messages=messages(), output_format=Verdict
    )
    say(
        "structured",
        type=type(message).__name__,
        parsed=message.parsed_output.model_dump(),
        stop=message.stop_reason,
        written=message.usage.cache_creation_input_tokens > 0,
    )


def with_tools():
    talk = messages()
    ask = {"model": MODEL, "max_tokens": 4000, "tools": tools(), "thinking": {"type": "adaptive"}, "system": system()}
    first = client().messages.create(messages=talk, **ask)
    talk.append(first.to_param())
    uses = [block for block in first.content if block.type == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": use.id, "content": str(RESULT)} for use in uses]
    talk.append({"role": "user", "content": results})
    last = client().messages.create(messages=talk, **ask)
    say(
        "tools",
        blocks=[block.type for block in first.content],
        type=type(uses[0]).__name__,
        name=uses[0].name,
        arguments=uses[0].input,
        stop=first.stop_reason,
        text=last.content[0].text,
        cached=last.usage.cache_read_input_tokens > 0,
    )


def streamed():
    with client().messages.stream(model=MODEL, max_tokens=1000, messages=messages()) as stream:
        text = "".join(stream.text_stream)
        message = stream.get_final_message()
    say("streamed", text=text, stop=message.stop_reason, usage=message.usage.output_tokens > 0)


def streamed_tools():
    with client().messages.stream(model=MODEL, max_tokens=1000, messages=messages(), tools=tools()) as stream:
        message = stream.get_final_message()
    block = message.content[-1]
    say("streamed tools", blocks=[b.type for b in message.content], name=block.name, arguments=block.input)


def refused():
    message = client().messages.create(model=MODEL, max_tokens=1000, messages=messages())
    say("refusal", stop=message.stop_reason, details=type(message.stop_details).__name__)


def create(**more):
    return lambda: client().messages.create(**{"model": MODEL, "max_tokens": 1000, "messages": messages(), **more})


structured()
with_tools()
streamed()
streamed_tools()
refused()
raised("bad request", create(max_tokens=-1))
raised("unknown field", create(extra_body={"n": 2}))
raised("sampling of a new model", create(extra_body={"temperature": 0.2}))
raised("wrong key", lambda: client("wrong").messages.create(model=MODEL, max_tokens=10, messages=messages()))
raised("rate limited", create())
raised("spend limit", create())
raised("overloaded", create())


def cut():
    with client().messages.stream(model=MODEL, max_tokens=1000, messages=messages()) as stream:
        stream.get_final_message()


raised("cut", cut)
