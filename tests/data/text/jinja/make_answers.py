#!/usr/bin/env python3
"""Write what Jinja2 answers for chat templates: answers.jsonl, conversations.jsonl.

A line of answers.jsonl is {"name", "template", "variables", "answer"}; in place of "answer", {"error": true} where
Jinja2 refuses and {"raises": MESSAGE} where the template calls raise_exception. "optional": true marks what published
templates do not use: refusing it is as good as the answer. The cases are in cases/*.txt, one a line, in which ⏎ is a
line feed, ⇥ a tab, ␍ a carriage return, ␋ and ␌ other white space; a line without Jinja's braces is an expression;
"? " marks an optional one and "# " a heading. A line of conversations.jsonl is the same for the templates in
../templates, over whole conversations; "template" is the file's name there.

Jinja2 3.1.6 on Python 3.11, configured the way transformers configures it for chat templates.

    pip install jinja2==3.1.6; python make_answers.py [--errors]        lists what Jinja2 refuses
"""
import datetime, json, pathlib, sys, warnings
import jinja2, jinja2.ext, jinja2.meta, jinja2.nodes, jinja2.sandbox
from conversations import CONVERSATIONS

HERE = pathlib.Path(__file__).parent
SIGNS = str.maketrans({"⏎": "\n", "⇥": "\t", "␍": "\r", "␋": "\v", "␌": "\f"})
VARIABLES = {
    "x": 5, "f": 2.5, "s": "Hello World", "t": "  padded\n", "uni": "Ünïcode ß 日本語 🙂", "empty": "", "l": [3, 1, 2],
    "words": ["banana", "apple", "Cherry"], "d": {"b": 2, "a": 1, "items": "an item", "keys": ["k"]},
    "nested": {"x": {"y": {"z": "deep"}}}, "yes": True, "no": False, "nothing": None, "big": 9007199254740993,
    "html": "<a href=\"x\">&'</a>",
    "people": [
        {"name": "Cy", "age": 31, "city": "Rome", "pet": {"kind": "cat"}},
        {"name": "Ann", "age": 40, "city": "Oslo", "pet": {"kind": "dog"}},
        {"name": "bob", "age": 25, "city": "Oslo", "pet": {}},
    ],
    "messages": [
        {"role": "user", "content": "Hi there"}, {"role": "assistant", "content": "Hello!\n"},
        {"role": "user", "content": " 2 + 2? "},
    ],
    "tools": [{"type": "function", "function": {"name": "weather", "description": "Tells the weather.", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "description": "Which \"city\""}, "days": {"type": "integer"}},
        "required": ["city"]}}}],
}


class Generation(jinja2.ext.Extension):
    """{% generation %}: marks what the assistant said; its body is rendered as if the marks were not there."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    @jinja2.pass_eval_context
    def _render(self, context, caller):
        return caller()


class Raised(Exception):
    pass


def raise_exception(message):
    raise Raised(message)


def to_json(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


ENVIRONMENT = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
ENVIRONMENT.filters["tojson"] = to_json
ENVIRONMENT.globals["raise_exception"] = raise_exception
ENVIRONMENT.globals["strftime_now"] = datetime.datetime(2024, 7, 26).strftime


def answer(source, variables):
    try:
        return {"answer": ENVIRONMENT.from_string(source).render(**variables)}
    except Raised as error:
        return {"raises": str(error)}
    except Exception as error:
        if "--errors" in sys.argv: print(f"{source!r}: {type(error).__name__}: {error}")
        return {"error": True}


def named(source):
    """The variables of VARIABLES that the template reads."""
    try:
        names = jinja2.meta.find_undeclared_variables(ENVIRONMENT.parse(source))
    except jinja2.TemplateError:
        return {}
    return {name: value for name, value in VARIABLES.items() if name in names}


def write_answers():
    with open(HERE / "answers.jsonl", "w") as f:
        for path in sorted((HERE / "cases").glob("*.txt")):
            heading = path.stem
            for number, line in enumerate(path.read_text().split("\n"), 1):
                if line.startswith("# "):
                    heading = f"{path.stem}: {line[2:]}"
                if not line.strip() or line.startswith("# "):
                    continue
                optional = line.startswith("? ")
                source = line.removeprefix("? ").translate(SIGNS)
                if not any(mark in source for mark in ["{{", "{%", "{#"]) and path.stem != "whitespace":
                    source = "{{ " + source + " }}"
                case = {"name": f"{heading} ({number})", "template": source, "variables": named(source)}
                case |= answer(source, case["variables"])
                if case.get("answer", "").find(" object at 0x") >= 0 or "<function" in case.get("answer", "") or "<built-in" in case.get("answer", ""):
                    continue  # an address in memory
                if optional: case["optional"] = True
                f.write(json.dumps(case, ensure_ascii=False) + "\n")


def write_conversations():
    with open(HERE / "conversations.jsonl", "w") as f:
        for path in sorted((HERE.parent / "templates").glob("*.jinja")):
            for name, variables in CONVERSATIONS.items():
                case = {"name": f"{path.stem}: {name}", "template": path.stem, "variables": variables}
                f.write(json.dumps(case | answer(path.read_text(), variables), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write_answers()
    write_conversations()
