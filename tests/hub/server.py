#!/usr/bin/env python3
"""A hub for tests: serves the repositories under a folder as Hugging Face's does, and misbehaves.

    server.py ROOT        prints the port of 127.0.0.1 that it listens on; ends with its parent

ROOT/OWNER/NAME holds a repository's files. ROOT/faults.json, read at every request, says what goes
wrong: [VERSION, {"PATH": ["FAULT", ...]}], where a request whose path ends in PATH takes the first
fault that is left, and one that ends in "*" is never used up; another version begins anew.
ROOT/log.jsonl gets a line for each request.
"""
import hashlib
import http.server
import json
import os
import pathlib
import sys
import threading
import time
import urllib.parse

ROOT = pathlib.Path(sys.argv[1])
used = {}
lock = threading.Lock()


def next_fault(path):
    try:
        version, faults = json.loads((ROOT / "faults.json").read_text())
    except FileNotFoundError:
        return ""
    if used.get("version") != version:
        used.clear()
        used["version"] = version
    for suffix, list_of_faults in faults.items():
        if not path.endswith(suffix):
            continue
        i = used.get(suffix, 0)
        if i == len(list_of_faults):
            return ""
        if not list_of_faults[i].endswith("*"):
            used[suffix] = i + 1
        return list_of_faults[i].rstrip("*")
    return ""


def entry(path, root):
    contents = path.read_bytes()
    name = path.relative_to(root).as_posix()
    oid = hashlib.sha1(b"blob %d\0" % len(contents) + contents).hexdigest()
    fields = {"type": "file", "path": name, "size": len(contents), "oid": oid}
    if name.endswith((".gguf", ".safetensors")):
        fields["lfs"] = {"oid": hashlib.sha256(contents).hexdigest(), "size": len(contents)}
    return fields


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # who asked has gone


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", headers=(), length=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(url.path)
        with lock:
            fault, _, argument = next_fault(path).partition(":")
            with open(ROOT / "log.jsonl", "a") as log:
                fields = {name.lower(): value for name, value in self.headers.items()}
                log.write(json.dumps({"path": path, **fields}) + "\n")
        if fault.isdigit():
            headers = [("X-Error-Message", "said by the server")]
            if argument:
                headers.append(("Retry-After", argument))
            return self.answer(int(fault), b"{}", headers)
        if fault == "redirect":
            return self.answer(302, b"elsewhere", [("Location", argument)])
        if fault == "body":
            return self.answer(200, argument.encode())
        if fault == "headers":
            return self.answer(200, b"[]", [(f"X-{i}", "x" * 1000) for i in range(int(argument))])
        if fault == "close":
            self.close_connection = True
            return None
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            return self.answer_listing(ROOT / parts[2] / parts[3], url, fault, argument)
        if parts[2:4] == ["resolve", "main"]:
            return self.answer_file(ROOT / parts[0] / parts[1] / "/".join(parts[4:]), fault,
                                    argument)
        return self.answer(404)

    def answer_listing(self, root, url, fault, argument):
        if not root.is_dir():
            return self.answer(404, b"{}", [("X-Error-Message", "Repository not found")])
        query = urllib.parse.parse_qs(url.query)
        first = int(query.get("cursor", ["0"])[0])
        entries = [entry(path, root) for path in sorted(root.rglob("*")) if path.is_file()]
        count = int(argument) if fault == "pages" else len(entries) + 1
        headers = []
        if first + count < len(entries):
            next_url = f"{url.path}?recursive=true&cursor={first + count}"
            headers = [("Link", f'<http://{self.headers["Host"]}{next_url}>; rel="next"')]
        page = json.dumps(entries[first:first + count]).encode()
        return self.answer(200, page, headers)

    def answer_file(self, path, fault, argument):
        if not path.is_file():
            return self.answer(404, b"", [("X-Error-Message", "Entry not found")])
        contents = path.read_bytes()
        etag = '"' + hashlib.sha256(contents).hexdigest() + '"'
        if fault == "other":  # bytes of the right number, but others
            contents = bytes(byte ^ 1 for byte in contents)
        first = 0
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes=") and self.headers.get("If-Range", etag) == etag:
            first = int(wanted[len("bytes="):].rstrip("-"))
        if fault == "whole":
            first = 0
        if fault == "shifted":
            first += 1
        headers = [("ETag", etag)]
        if first >= len(contents) > 0:
            return self.answer(416, b"", [("Content-Range", f"bytes */{len(contents)}")])
        if first > 0:
            headers.append(
                ("Content-Range", f"bytes {first}-{len(contents) - 1}/{len(contents)}"))
        status = 206 if first > 0 else 200
        body = contents[first:]
        length = len(body)
        if fault == "length":  # announced: that many more or less
            length += int(argument)
            body = body[:length]
        if fault == "more":
            body = body + b"x" * int(argument)
            return self.answer_without_length(status, body, headers)
        if fault == "less":
            return self.answer_without_length(status, body[:int(argument)], headers)
        if fault == "cut":
            body = body[:int(argument)]
            self.close_connection = True
        if fault == "slow":  # that many bytes, and then nothing for a while
            self.answer(status, body[:int(argument)], headers, length)
            self.wfile.flush()
            time.sleep(30)
            return None
        return self.answer(status, body, headers, length)

    def answer_without_length(self, status, body, headers):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True


def end_with_parent():
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


def main():
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=end_with_parent, daemon=True).start()
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
