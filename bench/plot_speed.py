"""Draw what compare.py measured: [results, path, caption] in JSON on standard input.

A result is [label, key, Gumbel's median, llama.cpp's median].
"""
import json
import sys

import matplotlib

matplotlib.use("svg")
# No dates and random names, so that equal results are equal files.
matplotlib.rcParams.update({"svg.hashsalt": "gumbel", "svg.fonttype": "none", "font.size": 10})
import matplotlib.pyplot as plt  # noqa: E402  the settings come first

TITLES = {
    "decode_tokens_per_s": "decode, tokens a second",
    "prefill_tokens_per_s": "prompt, tokens a second",
}
RUNTIMES = ((-0.2, 2, "#3b6fb6", "Gumbel"), (0.2, 3, "#b9b9b9", "llama.cpp"))

results, path, caption = json.load(sys.stdin)
figure, panels = plt.subplots(1, 2, figsize=(10, 3.2), sharey=True)
for panel, (key, title) in zip(panels, TITLES.items()):
    rows = [row for row in results if row[1] == key]
    for place, row in enumerate(rows):
        for offset, column, color, name in RUNTIMES:
            label = name if place == 0 else None
            panel.barh(place + offset, row[column], 0.38, color=color, label=label)
            panel.text(row[column], place + offset, f" {row[column]:,.0f}", va="center")
    panel.set_yticks(range(len(rows)), [row[0] for row in rows])
    panel.set_title(title)
    panel.set_xlim(0, 1.18 * max(max(row[2:]) for row in rows))
    panel.spines[["top", "right"]].set_visible(False)
panels[0].invert_yaxis()
panels[1].legend(loc="lower right", frameon=False)
figure.text(0.5, 0.005, caption, ha="center", fontsize=8)
figure.tight_layout(rect=(0, 0.04, 1, 1))
figure.savefig(path, metadata={"Date": None})
