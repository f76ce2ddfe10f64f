"""Reads the objects that Helm made, and prints them as one JSON list. Keys that stand twice are errors.

With versions of Kubernetes as arguments each object is checked against the schemas of all of them; keys that a schema does
not know are errors then, for Kubernetes drops them in silence. Objects of operators have no schema there: CUSTOM says
which keys those may have that the chart makes.
"""

import json
import sys

import yaml

TRIGGER = {"type": str, "metadata": {str: str}, "authenticationRef": {"name": str}}
SECRET = {"parameter": str, "name": str, "key": str}
RULE = {"alert": str, "expr": str, "for": str, "labels": {str: str}, "annotations": {str: str}}
# Of each kind the keys of `spec` that the operator knows, as far as they are used: a type, [what a list holds], or a mapping.
CUSTOM = {
    ("keda.sh/v1alpha1", "ScaledObject"): {
        "scaleTargetRef": {"name": str},
        "minReplicaCount": int,
        "maxReplicaCount": int,
        "pollingInterval": int,
        "fallback": {"failureThreshold": int, "replicas": int, "behavior": str},
        "triggers": [TRIGGER],
    },
    ("keda.sh/v1alpha1", "TriggerAuthentication"): {
        "secretTargetRef": [SECRET],
        "podIdentity": {"provider": str, "identityOwner": str},
    },
    ("monitoring.coreos.com/v1", "ServiceMonitor"): {
        "jobLabel": str,
        "selector": {"matchLabels": {str: str}},
        "endpoints": [{"port": str, "path": str, "interval": str}],
    },
    ("monitoring.coreos.com/v1", "PrometheusRule"): {"groups": [{"name": str, "rules": [RULE]}]},
}


class Strict(yaml.SafeLoader):
    """YAML whose mappings have each key once."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {str(key) for key in keys if keys.count(key) > 1}
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"twice: {sorted(twice)}", node.start_mark)
        return super().construct_mapping(node, deep)


def fits(value, shape, path):
    """Ends the program where a value has not the shape."""
    if isinstance(shape, list):
        assert isinstance(value, list) and value, f"{path} is no list of anything: {value!r}"
        for number, one in enumerate(value):
            fits(one, shape[0], f"{path}/{number}")
    elif isinstance(shape, dict):
        assert isinstance(value, dict) and value, f"{path} holds nothing: {value!r}"
        for key, one in value.items():
            assert key in shape or str in shape, f"{path} knows no {key}"
            fits(one, shape.get(key, shape.get(str)), f"{path}/{key}")
    else:
        assert type(value) is shape, f"{path} is no {shape.__name__}: {value!r}"


def check(it, versions):
    """Ends the program where Kubernetes or an operator would not take an object."""
    import kubernetes_validate  # takes its time

    kind = (it["apiVersion"], it["kind"])
    if kind in CUSTOM:
        assert set(it) == {"apiVersion", "kind", "metadata", "spec"}, f"{kind}: {sorted(it)}"
        fits(it["spec"], CUSTOM[kind], f"{it['kind']} {it['metadata']['name']}")
        return
    for version in versions:
        kubernetes_validate.validate(it, version, strict=True)


objects = [it for it in yaml.load_all(sys.stdin, Strict) if it is not None]
if sys.argv[1:]:
    for it in objects:
        check(it, sys.argv[1:])
json.dump(objects, sys.stdout)
