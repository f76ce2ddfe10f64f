#!/usr/bin/env bash
# What AlienVault's Python client asks for when the indicator is a URL that has a query.
#
# Versions:  OTXv2 1.5.12, requests 2.32.5, six 1.17.0
# Guess:     the client encodes the URL into one segment of the path, as its `general` section is the last segment
# Behaviour: the URL goes into the path as it stands. Of a URL with a query the section becomes the end of that query, so that
#            the path names no section. Without a query the section stays in the path, behind the segments of the URL.
# Seen:      with a query: path /api/v1/indicators/url/http://downloads.example/a, query b=c/general
#            without one: path /api/v1/indicators/url/http://downloads.example/a/general, query -
#
# Needs python3 with venv and a few MB from PyPI; asks a server on 127.0.0.1 only. Exits with 1 where the behaviour has changed.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check OTXv2==1.5.12 requests==2.32.5 six==1.17.0
cat >"$folder/seen.py" <<'PYTHON'
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlsplit

from OTXv2 import IndicatorTypes, OTXv2

asked = []


class Recorder(BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        body = b"{}"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Recorder)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = OTXv2("0" * 64, server=f"http://127.0.0.1:{server.server_port}")
for name, url in [
    ("with a query", "http://downloads.example/a?b=c"),
    ("without one", "http://downloads.example/a"),
]:
    client.get_indicator_details_by_section(IndicatorTypes.URL, url, "general")
    parts = urlsplit(f"http://recorder{asked.pop()}")
    print(f"{name}: path {parts.path}, query {parts.query or '-'}")
server.shutdown()
PYTHON
seen=$("$folder/venv/bin/python" "$folder/seen.py")
expected='with a query: path /api/v1/indicators/url/http://downloads.example/a, query b=c/general
without one: path /api/v1/indicators/url/http://downloads.example/a/general, query -'
echo "$seen"
if [[ $seen != "$expected" ]]; then
    echo "the behaviour has changed" >&2
    exit 1
fi
