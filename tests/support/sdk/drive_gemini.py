"""The official `google-genai` SDK against the fake; with a third argument `vertex`, its Vertex client."""

import sys
from typing import Optional

from google import genai
from google.auth.credentials import Credentials
from google.genai import types
from pydantic import BaseModel

from said import DESCRIPTION, QUESTION, RESULT, SCHEMA, SYSTEM, TOOL, arguments, raised, say

VERTEX = sys.argv[2:] == ["vertex"]
MODEL = "gemini-3-pro-preview"
OPEN = {key: value for key, value in SCHEMA.items() if key != "additionalProperties"}


class Verdict(BaseModel):
    verdict: str
    score: int
    reasons: list[str]
    note: Optional[str] = None


STANDARD = {**SCHEMA, "title": "Asset"}


class Token(Credentials):
    """A token that needs no refreshing."""

    def __init__(self):
        super().__init__()
        self.token = "ya29.test"

    def refresh(self, request):
        pass

    @property
    def expired(self):
        return False


def client(key="AIza-test"):
    options = types.HttpOptions(base_url=arguments(), retry_options=types.HttpRetryOptions(attempts=1))
    if VERTEX:
        return genai.Client(
            vertexai=True, project="p", location="global", credentials=Token(), http_options=options
        )
    return genai.Client(api_key=key, http_options=options)


OURS = client()


def config(**more):
    return types.GenerateContentConfig(system_instruction=SYSTEM, **more)


def tools(declaration=None):
    declaration = declaration or types.FunctionDeclaration(
        name=TOOL, description=DESCRIPTION, parameters_json_schema=SCHEMA
    )
    return {
        "tools": [types.Tool(function_declarations=[declaration])],
        "automatic_function_calling": types.AutomaticFunctionCallingConfig(disable=True),
    }


def generate(contents, **more):
    return OURS.models.generate_content(model=MODEL, contents=contents, config=config(**more))


def structured():
    response = generate(
        QUESTION, response_mime_type="application/json", response_schema=Verdict, temperature=0.1, max_output_tokens=900
    )
    standard = generate(
        QUESTION,
        response_mime_type="application/json",
        response_json_schema=STANDARD,
        thinking_config=types.ThinkingConfig(thinking_level="low"),
    )
    say(
        "structured",
        type=type(response).__name__,
        parsed=response.parsed.model_dump(exclude_none=True),
        finish=response.candidates[0].finish_reason.name,
        usage=response.usage_metadata.total_token_count > 0,
        standard=standard.text,
    )


def with_tools():
    contents = [types.UserContent(parts=[types.Part(text=QUESTION)])]
    own = types.FunctionDeclaration(
        name=TOOL,
        description=DESCRIPTION,
        parameters=types.Schema(
            type="OBJECT", properties={"indicator": types.Schema(type="STRING")}, required=["indicator"]
        ),
    )
    first = generate(contents, **tools(own))
    contents.append(first.candidates[0].content)
    parts = []
    for call in first.function_calls:
        response = types.FunctionResponse(id=call.id, name=call.name, response={"output": RESULT})
        parts.append(types.Part(function_response=response))
    contents.append(types.Content(role="user", parts=parts))
    last = generate(contents, **tools(own))
    signed = [part.thought_signature is not None for part in first.candidates[0].content.parts]
    call = first.function_calls[0]
    say(
        "tools",
        type=type(call).__name__,
        calls=len(first.function_calls),
        name=call.name,
        arguments=call.args,
        signed=signed,
        text=last.text,
    )
    unsigned = [content.model_copy(deep=True) for content in contents]
    for part in unsigned[1].parts:
        part.thought_signature = None
    raised("unsigned", lambda: generate(unsigned, **tools(own)))


def streamed():
    text, usage, chunks = "", 0, 0
    for chunk in OURS.models.generate_content_stream(model=MODEL, contents=QUESTION, config=config()):
        chunks += 1
        text += chunk.text or ""
        usage = chunk.usage_metadata.total_token_count
    say("streamed", text=text, usage=usage > 0, chunks=chunks)


def refused():
    response = generate(QUESTION)
    say("refusal", finish=response.candidates[0].finish_reason.name, text=response.text)


structured()
with_tools()
streamed()
refused()
raised("bad request", lambda: generate(QUESTION, temperature=7))
raised("unknown field", lambda: generate(QUESTION, http_options=types.HttpOptions(extra_body={"n": 2})))
if not VERTEX:
    wrong = client("wrong")
    raised("wrong key", lambda: wrong.models.generate_content(model=MODEL, contents=QUESTION))
raised("rate limited", lambda: generate(QUESTION))
raised("spend limit", lambda: generate(QUESTION))
raised("overloaded", lambda: generate(QUESTION))
raised("cut", lambda: generate(QUESTION))
