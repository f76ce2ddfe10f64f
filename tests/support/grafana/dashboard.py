"""Reads a dashboard as Grafana's own types have it, and says what of it they do not know.

What goes through these types and comes back must still hold all that the file says: a key that is misspelt is lost on the
way, and a value that does not fit is an error.
"""

import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard


def lost(ours, theirs, path=""):
    """What stands in `ours` and not in `theirs`, as paths."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [at for key in ours for at in lost(ours[key], theirs.get(key), f"{path}/{key}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [at for number, pair in enumerate(zip(ours, theirs)) for at in lost(*pair, f"{path}/{number}")]
    return [] if ours == theirs or ours in ("", [], {}, None) else [f"{path}: {ours!r} became {theirs!r}"]


register_default_plugins()
ours = json.load(sys.stdin)
theirs = json.loads(json.dumps(Dashboard.from_json(ours), cls=JSONEncoder))
found = lost(ours, theirs)
for one in found:
    print(one, file=sys.stderr)
sys.exit(bool(found))
