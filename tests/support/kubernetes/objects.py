"""Reads the objects that Helm made, checks each against the schema of Kubernetes, and prints them as one JSON list.

Keys that the schema does not know and keys that stand twice are errors: Kubernetes drops the former in silence.
"""

import json
import sys

import kubernetes_validate
import yaml


class Strict(yaml.SafeLoader):
    """YAML whose mappings have each key once."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {str(key) for key in keys if keys.count(key) > 1}
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"twice: {sorted(twice)}", node.start_mark)
        return super().construct_mapping(node, deep)


objects = [it for it in yaml.load_all(sys.stdin, Strict) if it is not None]
for it in objects:
    kubernetes_validate.validate(it, kubernetes_validate.latest_version(), strict=True)
json.dump(objects, sys.stdout)
