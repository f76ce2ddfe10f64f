"""The official `openai` SDK against the fake; with a third argument `azure`, its Azure client."""

import json
import sys

import openai
from pydantic import BaseModel

from said import DESCRIPTION, QUESTION, RESULT, SCHEMA, SYSTEM, TOOL, arguments, raised, say

AZURE = sys.argv[2:] == ["azure"]
MODEL = "gpt-4o"


class Verdict(BaseModel):
    verdict: str
    score: int
    reasons: list[str]


def client(key="sk-test"):
    if AZURE:
        return openai.AzureOpenAI(
            azure_endpoint=arguments().removesuffix("/openai/v1"), api_key=key, api_version="2024-10-21", max_retries=0
        )
    return openai.OpenAI(base_url=arguments(), api_key=key, max_retries=0)


def messages():
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]


def tools():
    return [
        {
            "type": "function",
            "function": {"name": TOOL, "description": DESCRIPTION, "parameters": SCHEMA, "strict": True},
        }
    ]


def structured():
    completion = client().chat.completions.parse(model=MODEL, messages=messages(), response_format=Verdict, temperature=0)
    parsed = completion.choices[0].message.parsed
    say(
        "structured",
        type=type(completion).__name__,
        parsed=parsed.model_dump(),
        finish=completion.choices[0].finish_reason,
        usage=completion.usage.total_tokens > 0,
        cached=completion.usage.prompt_tokens_details.cached_tokens,
    )


def with_tools():
    talk = messages()
    first = client().chat.completions.create(model=MODEL, messages=talk, tools=tools(), parallel_tool_calls=True)
    message = first.choices[0].message
    talk.append(message.model_dump(exclude_none=True, exclude={"annotations"}))
    for call in message.tool_calls:
        talk.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(RESULT)})
    last = client().chat.completions.create(model=MODEL, messages=talk, tools=tools())
    call = message.tool_calls[0]
    say(
        "tools",
        type=type(call).__name__,
        calls=len(message.tool_calls),
        name=call.function.name,
        arguments=json.loads(call.function.arguments),
        finish=first.choices[0].finish_reason,
        text=last.choices[0].message.content,
    )


def streamed():
    text, usage, chunks = "", None, 0
    stream = client().chat.completions.create(
        model=MODEL, messages=messages(), stream=True, stream_options={"include_usage": True}
    )
    for chunk in stream:
        chunks += 1
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
    say("streamed", text=text, usage=usage.total_tokens > 0, chunks=chunks)


def streamed_tools():
    with client().chat.completions.stream(model=MODEL, messages=messages(), tools=tools()) as stream:
        completion = stream.get_final_completion()
    call = completion.choices[0].message.tool_calls[0]
    say("streamed tools", name=call.function.name, arguments=call.function.parsed_arguments)


def reasoning():
    completion = client().chat.completions.create(
        model="o3", messages=messages(), max_completion_tokens=2000, reasoning_effort="low"
    )
    say("reasoning", text=completion.choices[0].message.content)


def refused():
    completion = client().chat.completions.parse(model=MODEL, messages=messages(), response_format=Verdict)
    say("refusal", refusal=completion.choices[0].message.refusal, parsed=completion.choices[0].message.parsed)


def create(**more):
    return lambda: client().chat.completions.create(**{"model": MODEL, "messages": messages(), **more})


structured()
with_tools()
streamed()
streamed_tools()
reasoning()
refused()
raised("bad request", create(temperature=7))
raised("unknown field", create(extra_body={"top_k": 3}))
raised("sampling of a reasoning model", create(model="o3", temperature=0.2))
raised("wrong key", lambda: client("wrong").chat.completions.create(model=MODEL, messages=messages()))
raised("rate limited", create())
raised("spend limit", create())
raised("overloaded", create())
raised("cut", lambda: list(create(stream=True)()))
raised(
    "truncated",
    lambda: client().chat.completions.parse(model=MODEL, messages=messages(), response_format=Verdict),
)
