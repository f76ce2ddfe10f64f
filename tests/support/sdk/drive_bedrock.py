"""The official `boto3` SDK against the fake. It signs: with an API key it talks to https only."""

import json

import boto3
from botocore.config import Config

from said import DESCRIPTION, QUESTION, RESULT, SCHEMA, SYSTEM, TOOL, arguments, raised, say

CLAUDE = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
NEWEST = "eu.anthropic.claude-sonnet-5-v1:0"
R1 = "us.deepseek.r1-v1:0"
VERDICT = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string"},
        "score": {"type": "integer"},
        "reasons": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["verdict", "score", "reasons"],
    "additionalProperties": False,
}


def client():
    keys = {"aws_access_key_id": "AKIDTEST", "aws_secret_access_key": "secret"}
    config = Config(retries={"total_max_attempts": 1, "mode": "standard"})
    return boto3.client(
        "bedrock-runtime", endpoint_url=arguments(), region_name="eu-west-1", config=config, **keys
    )


def converse(model=CLAUDE, messages=None, **more):
    messages = messages or [{"role": "user", "content": [{"text": QUESTION}]}]
    return client().converse(modelId=model, messages=messages, system=[{"text": SYSTEM}], **more)


def tools():
    spec = {"name": TOOL, "description": DESCRIPTION, "inputSchema": {"json": SCHEMA}}
    return {"tools": [{"toolSpec": spec}, {"cachePoint": {"type": "default"}}], "toolChoice": {"auto": {}}}


def structured():
    structure = {"jsonSchema": {"name": "verdict", "schema": json.dumps(VERDICT)}}
    response = converse(
        inferenceConfig={"maxTokens": 900, "temperature": 0.1},
        outputConfig={"textFormat": {"type": "json_schema", "structure": structure}},
    )
    say(
        "structured",
        parsed=json.loads(response["output"]["message"]["content"][0]["text"]),
        stop=response["stopReason"],
        usage=response["usage"]["totalTokens"] > 0,
    )


def with_tools():
    talk = [{"role": "user", "content": [{"text": QUESTION}]}]
    first = converse(messages=talk, toolConfig=tools())
    message = first["output"]["message"]
    talk.append(message)
    uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
    results = [
        {"toolResult": {"toolUseId": use["toolUseId"], "content": [{"json": RESULT}], "status": "success"}}
        for use in uses
    ]
    talk.append({"role": "user", "content": results})
    last = converse(messages=talk, toolConfig=tools())
    say(
        "tools",
        calls=len(uses),
        name=uses[0]["name"],
        arguments=uses[0]["input"],
        stop=first["stopReason"],
        text=last["output"]["message"]["content"][0]["text"],
    )


def plain():
    content = converse(model=R1)["output"]["message"]["content"]
    say("plain", blocks=[next(iter(block)) for block in content])


structured()
with_tools()
plain()
raised("bad request", lambda: converse(messages=[{"role": "assistant", "content": [{"text": "first"}]}]))
raised("tools of a model without", lambda: converse(model=R1, toolConfig=tools()))
raised("sampling of a new model", lambda: converse(model=NEWEST, inferenceConfig={"temperature": 0.2}))
raised("rate limited", converse)
raised("spend limit", converse)
raised("overloaded", converse)
raised("cut", converse)
