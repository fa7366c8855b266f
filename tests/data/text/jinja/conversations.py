"""The conversations over which whole templates are rendered: the variables that a server passes."""
TOOLS = [
    {"type": "function", "function": {
        "name": "weather", "description": "Tells the weather of a place.",
        "parameters": {"type": "object", "properties": {
            "place": {"type": "string", "description": "A town, \"as written\"."},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
            "days": {"type": ["integer", "null"]},
            "areas": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            "options": {"type": "object", "properties": {"wind": {"type": "boolean"}}},
        }, "required": ["place"]},
        "return": {"type": "object", "description": "What was measured"},
    }},
    {"type": "function", "function": {"name": "clock", "description": "Tells the time.", "parameters": {"type": "object", "properties": {}}}},
]


def call(name, arguments, number=1):
    return {"id": f"call{number:05d}", "type": "function", "function": {"name": name, "arguments": arguments}}


USER = {"role": "user", "content": "Hi <|im_end|> {{ x }}"}
SYSTEM = {"role": "system", "content": "  Be brief.\n"}
TURNS = [USER, {"role": "assistant", "content": "Hello!\n"}, {"role": "user", "content": " What is 2 + 2?\n日本 🙂 "}]
THOUGHT = [USER, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes."}, {"role": "user", "content": "Why?"}]
REASONED = [USER, {"role": "assistant", "reasoning_content": "hm", "content": "Yes."}, {"role": "user", "content": "Why?"}]
CALLED = TURNS[:1] + [
    {"role": "assistant", "content": "", "tool_calls": [call("weather", {"place": "Oslo \"N\"", "days": 2, "areas": [[1.5]], "wind": True, "unit": None})]},
    {"role": "tool", "tool_call_id": "call00001", "name": "weather", "content": "{\"degrees\": -3}"},
]
CALLED_TWICE = TURNS[:1] + [
    {"role": "assistant", "content": "Let me see.", "tool_calls": [call("weather", {"place": "Oslo"}), call("clock", {}, 2)]},
    {"role": "tool", "tool_call_id": "call00001", "name": "weather", "content": "cold"},
    {"role": "tool", "tool_call_id": "call00002", "name": "clock", "content": "noon"},
    {"role": "assistant", "content": "Cold, at noon."}, {"role": "user", "content": "Thanks"},
]
PARTS = [{"role": "user", "content": [{"type": "text", "text": "Look: "}, {"type": "image"}, {"type": "text", "text": "what is it?"}]}]
DOCUMENTS = [{"doc_id": 1, "title": "Fjords", "text": "A fjord is deep."}, {"doc_id": 2, "title": "Towns", "text": "Oslo\nhas a fjord."}]


def chat(messages, **others):
    return {"messages": messages, "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True} | others


CONVERSATIONS = {
    "one": chat([USER]),
    "one, no generation": chat([USER], add_generation_prompt=False),
    "system": chat([SYSTEM] + TURNS[:1]),
    "turns": chat([SYSTEM] + TURNS),
    "answered": chat(TURNS[:2], add_generation_prompt=False),
    "thought": chat(THOUGHT),
    "reasoned": chat(REASONED),
    "thinking": chat([USER], enable_thinking=True, thinking=True),
    "not thinking": chat([USER], enable_thinking=False, thinking=False),
    "tools": chat([SYSTEM] + TURNS[:1], tools=TOOLS),
    "tools, no system": chat(TURNS, tools=TOOLS),
    "called": chat(CALLED, tools=TOOLS),
    "called, system": chat([SYSTEM] + CALLED, tools=TOOLS, date_string="1 Jan 2025"),
    "called twice": chat(CALLED_TWICE, tools=TOOLS),
    "called, tools gone": chat(CALLED),
    "called, in the user's turn": chat(CALLED, tools=TOOLS, tools_in_user_message=True),
    "parts": chat(PARTS),
    "documents": chat([SYSTEM] + TURNS, documents=DOCUMENTS),
    "two users": chat([USER, USER]),
    "assistant first": chat(TURNS[1:]),
    "unknown role": chat([USER, {"role": "critic", "content": "Hm."}]),
    "none": chat([]),
}
