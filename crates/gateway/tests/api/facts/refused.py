#!/usr/bin/env python3
"""Makes refused-8.9.jsonl: for every constraint that the interface facts of 8.9 state of requests, one request that breaks it.

    ./refused.py FACTS.json > refused-8.9.jsonl

A line: what is broken, method, path, body. A line without what is broken is the same request with nothing wrong in it.
"""
import json
import sys

FACTS = json.load(open(sys.argv[1]))
RULES = ("enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "uniqueItems")
# The sixth level of a filter is that of its operators.
DEPTH = 7
# Operators that take what another one takes.
LIKE_OTHERS = ("$neq", "$notIn", "$gt", "$gte", "$lt", "$lte")


def resolve(schema):
    """The schema with what it refers to and all its parts in one."""
    if "$ref" in schema:
        target = FACTS
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step.replace("~1", "/").replace("~0", "~")]
        return resolve({**target, **{k: v for k, v in schema.items() if k != "$ref"}})
    if "allOf" not in schema:
        return schema
    whole = {"properties": {}, "required": []}
    for part in [resolve(p) for p in schema["allOf"]] + [{k: v for k, v in schema.items() if k != "allOf"}]:
        whole["properties"].update(part.get("properties", {}))
        whole["required"] = whole["required"] + part.get("required", [])
        whole.update({k: v for k, v in part.items() if k not in ("properties", "required")})
    return whole


def valid(schema, name=""):
    """The least that the schema allows."""
    schema = resolve(schema)
    if "enum" in schema:
        return schema["enum"][0]
    if "oneOf" in schema:
        return valid(schema["oneOf"][0], name)
    kind = schema.get("type", "object")
    if kind == "object":
        required = schema.get("required", [])
        return {n: valid(p, n) for n, p in schema.get("properties", {}).items() if n in required}
    if kind == "array":
        return [valid(schema["items"], name)]
    if kind in ("integer", "number"):
        return max(1, schema.get("minimum", 1))
    if kind == "boolean":
        return True
    if schema.get("format") == "date-time":
        return "2026-01-01T00:00:00Z"
    if schema.get("pattern", "").startswith("^-?[0-9]+$"):
        return "2251799813685249"
    if schema.get("format") == "DecisionEvaluationInstanceKey":
        return "2251799813685249-1"
    if schema.get("format") == "base64" or "Cursor" in schema.get("format", ""):
        return "WyJhIl0="
    return {"expression": "=1", "tenantId": "<default>"}.get(name, "order")


def broken(schema, name="", depth=0):
    """Pairs of a rule and a value that breaks it and nothing else."""
    schema = resolve(schema)
    if depth > DEPTH:
        return
    if "oneOf" in schema:
        branches = [resolve(one) for one in schema["oneOf"]]
        objects = [one for one in branches if one.get("type", "object") == "object"]
        for one in branches:
            for rule, value in broken(one, name, depth):
                # With several kinds of objects, one that lacks a member may be another kind.
                if one not in objects or len(objects) == 1 or rule.split()[0] in RULES:
                    yield rule, value
        return
    kind = schema.get("type", "object")
    if "enum" in schema:
        yield "enum", "NO_SUCH_WORD"
    elif kind == "string":
        if "pattern" in schema:
            yield "pattern", "!"
        if schema.get("minLength", 0) > 0:
            yield "minLength", ""
        if "maxLength" in schema:
            digits = schema.get("pattern", "").startswith("^-?[0-9]")
            yield "maxLength", ("1" if digits else "a") * (schema["maxLength"] + 1)
        if schema.get("format") == "date-time":
            yield "format", "yesterday"
    elif kind in ("integer", "number"):
        if "minimum" in schema:
            yield "minimum", schema["minimum"] - 1
        if "maximum" in schema:
            yield "maximum", schema["maximum"] + 1
    elif kind == "array":
        item = valid(schema["items"], name)
        if "maxItems" in schema:
            yield "maxItems", [f"{item}{n}" for n in range(schema["maxItems"] + 1)]
        if schema.get("minItems", 0) > 0:
            yield "minItems", []
        if schema.get("uniqueItems"):
            yield "uniqueItems", [item, item]
        for rule, value in broken(schema["items"], name, depth + 1):
            yield rule, [value]
    elif kind == "object":
        whole = valid(schema, name)
        properties = schema.get("properties", {})
        for member in schema.get("required", []):
            yield f"required {member}", {k: v for k, v in whole.items() if k != member}
            if not resolve(properties.get(member, {})).get("nullable"):
                yield f"null {member}", {**whole, member: None}
        if schema.get("additionalProperties") is False:
            yield "additionalProperties", {**whole, "noSuchMember": 1}
        for member, part in properties.items():
            if member in LIKE_OTHERS:
                continue
            for rule, value in broken(part, member, depth + 1):
                yield f"{rule} at {member}" if " at " not in rule else rule.replace(" at ", f" at {member}."), {**whole, member: value}


# What the schemas leave open and the operations need: a part of the body that has nothing else.
ONE_INSTANCE = {"filter": {"processInstanceKey": "2251799813685249"}}
NEEDED = {
    "/decision-instances/deletion": {"filter": {"decisionDefinitionKey": "2251799813685249"}},
    "/process-instances/cancellation": ONE_INSTANCE,
    "/process-instances/deletion": ONE_INSTANCE,
    "/process-instances/incident-resolution": ONE_INSTANCE,
    "/process-instances/migration": ONE_INSTANCE,
    "/process-instances/modification": ONE_INSTANCE,
    "/jobs/2251799813685249": {"changeset": {"retries": 1}},
    "/user-tasks/2251799813685249/assignment": {"assignee": "order"},
}


def show(rule, method, path, body):
    for member, part in NEEDED.get(path, {}).items():
        left_out = rule is not None and rule.endswith(f"required {member}")
        if isinstance(body, dict) and body.get(member, "" if left_out else {}) == {}:
            body = {**body, member: part}
    path = path.replace("<", "%3C").replace(">", "%3E")
    print(json.dumps([rule, method, f"/v2{path}", body], ensure_ascii=False, separators=(",", ":")))


for path, operations in FACTS["paths"].items():
    for method, operation in operations.items():
        method = method.upper()
        parameters = operation.get("parameters", []) + operations.get("parameters", [])
        parameters = [FACTS["components"]["parameters"][p["$ref"].rsplit("/", 1)[1]] if "$ref" in p else p for p in parameters]
        in_path = {p["name"]: valid(p["schema"], p["name"]) for p in parameters if p["in"] == "path"}
        at = path
        for name, value in in_path.items():
            at = at.replace("{%s}" % name, str(value))
        query = [f"{p['name']}={valid(p['schema'], p['name'])}" for p in parameters if p["in"] == "query" and p.get("required")]
        content = operation.get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema")
        if content and schema is None:
            continue
        body = valid(schema) if schema else None
        show(None, method, "?".join([at, "&".join(query)]) if query else at, body)
        for p in parameters:
            for rule, value in broken(p["schema"], p["name"]):
                # A path without its last part is another path.
                if p["in"] == "path" and value:
                    there = path
                    for name, good in in_path.items():
                        there = there.replace("{%s}" % name, str(value if name == p["name"] else good))
                    show(f"{rule} in {p['name']}", method, there, body)
                elif p["in"] == "query":
                    others = [q for q in query if not q.startswith(f"{p['name']}=")]
                    show(f"{rule} in ?{p['name']}", method, f"{at}?{'&'.join([*others, '%s=%s' % (p['name'], value)])}", body)
                    if p.get("required"):
                        show(f"required in ?{p['name']}", method, f"{at}?{'&'.join(others)}", body)
        if schema:
            seen = set()
            for rule, value in broken(schema):
                line = json.dumps([rule, value])
                if line not in seen:
                    seen.add(line)
                    show(rule, method, at, value)
