"""What all drivers share: they print one JSON line per conversation, and the test reads them.

A driver talks to the fake as any user of the SDK would. It asserts nothing about the fake's rules; it says what the
SDK made of the answers: which typed models it parsed, and which typed errors it raised.
"""

import json
import sys


def arguments():
    """The base address that the test names."""
    return sys.argv[1]


def say(conversation, **what):
    print(json.dumps({"conversation": conversation, **what}), flush=True)


def raised(conversation, attempt):
    """Says which error an attempt raises, and its status where it has one."""
    try:
        attempt()
    except Exception as error:  # noqa: BLE001: whatever it is, the test wants to know
        status = getattr(error, "status_code", None) or getattr(error, "code", None)
        response = getattr(error, "response", None)
        if isinstance(response, dict):
            status = response["ResponseMetadata"]["HTTPStatusCode"]
        say(conversation, raised=type(error).__name__, status=status)
    else:
        say(conversation, raised=None, status=None)


TOOL = "asset_lookup"
DESCRIPTION = "Says what is known of an asset."
SCHEMA = {
    "type": "object",
    "properties": {"indicator": {"type": "string", "description": "an address or a name"}},
    "required": ["indicator"],
    "additionalProperties": False,
}
SYSTEM = "You look at alerts. Answer as JSON."
QUESTION = "What is 10.0.0.5?"
RESULT = {"found": 1, "assets": [{"id": "web-1"}]}
