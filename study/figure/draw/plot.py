#!/usr/bin/env python3
"""Draws the numbers beside it, as weir plot --data has left them, with matplotlib: python3 THIS [OUT.pdf]"""
import csv
import json
import math
import os
import sys

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams.update({"font.size": 8, "pdf.fonttype": 42, "svg.fonttype": "none",
                            "font.family": "sans-serif", "text.parse_math": False})
import matplotlib.pyplot as plt

figure = json.loads("""{}""")

MARKERS = "os^DvP+Xd<>hp*H8"
DASHES = ["-", (0, (4.5, 2.2)), (0, (1.3, 1.6)), (0, (7, 1.9, 1.3, 1.9))]
HATCHES = ["", "///", "---", "xxx", "\\\\\\", "", "|||", "+++", "", "//////", "------", "xxxxxx", "\\\\\\\\\\\\", "..",
           "||||||", "++++++"]

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, figure["data"]), encoding="utf-8", newline="") as f:
    rows = list(csv.DictReader(f))


def number(text):
    return float(text) if text else math.nan


def column(of, name):
    return [number(r[name]) for r in of]


def draw(ax, panel):
    for m in panel["marks"]:
        of = [r for r in rows if (r["panel"], r["series"], r["shown_as"]) == (panel["title"], m["series"], m["shown_as"])]
        if not of:
            continue
        shift = m["shift"] if figure["x"]["words"] else 0
        x, y = [v + shift for v in column(of, "x")], column(of, "y")
        n = max(m["number"], 0)
        look = {"color": m["colour"], "label": m["series"]}
        dash, marker = DASHES[(n + n // 4) % 4], MARKERS[n % len(MARKERS)]
        errors = None
        if m["errors"]:
            low, high = column(of, "low"), column(of, "high")
            errors = [[max(0, a - b) for a, b in zip(y, low)], [max(0, b - a) for a, b in zip(y, high)]]
        if m["band"] and errors:
            ax.fill_between(x, column(of, "low"), column(of, "high"), color=m["colour"], alpha=.2, lw=0)
            errors = None
        kind = m["shown_as"]
        if kind == "bars":
            ax.bar(x, y, m["width"] * .92, fill=not HATCHES[n % 16], edgecolor=m["colour"], hatch=HATCHES[n % 16], **look)
            if errors:
                ax.errorbar(x, y, errors, fmt="none", ecolor="black", capsize=1.5, elinewidth=.7)
        elif kind == "boxes":
            stats = [{"whislo": number(r["low"]), "q1": number(r["q1"]), "med": number(r["median"]), "q3": number(r["q3"]),
                      "whishi": number(r["high"])} for r in of]
            ax.bxp(stats, positions=x, widths=m["width"] * .8, showfliers=False, manage_ticks=False, patch_artist=True,
                   boxprops={"facecolor": "white", "edgecolor": m["colour"], "hatch": HATCHES[n % 16]},
                   whiskerprops={"color": m["colour"]}, capprops={"color": m["colour"]}, medianprops={"color": "black"})
            ax.plot([], [], lw=4, **look)
        elif kind in ("steps", "area"):
            ax.step(x, y, where="post", lw=1, ls=dash, **look)
        elif kind == "crosses":
            ax.plot(x, y, "x", color=m["colour"], ms=5, zorder=5)
        else:
            if errors:
                ax.errorbar(x, y, errors, fmt="none", ecolor=m["colour"], capsize=1.5, elinewidth=.7)
            line = "none" if kind == "points" else dash
            ax.plot(x, y, ls=line, lw=1, marker=None if m["plain"] else marker, ms=3.5, **look)


def spans(ax, panel):
    last = len(figure["y"]["words"]) - 1
    for done in figure["does"]:
        of = [r for r in rows if r["panel"] == panel["title"] and r["shown_as"] == "span" and r["series"] == done["name"]]
        for k in {int(r["row"]) for r in of}:
            ax.broken_barh([(number(r["x"]), number(r["high"]) - number(r["x"])) for r in of if int(r["row"]) == k],
                           (last - k - .4, .8), color=done["colour"], lw=0)
        ax.plot([], [], lw=5, color=done["colour"], label=done["name"])
    ax.set_yticks([last - k for k in range(len(panel["rows"]))], panel["rows"])


def heat(fig, ax, panel):
    of = [r for r in rows if r["panel"] == panel["title"] and r["shown_as"] == "heat"]
    xs = sorted({number(r["x"]) for r in of})
    table = [[math.nan] * len(xs) for _ in figure["y"]["words"]]
    for r in of:
        table[int(r["row"])][xs.index(number(r["x"]))] = number(r["y"])
    low, high = figure["colours"]["range"]
    drawn = ax.pcolormesh(xs, range(len(table)), table, shading="nearest", cmap="magma_r", vmin=low, vmax=high)
    fig.colorbar(drawn, ax=ax, label=figure["colours"]["label"])
    for r in rows:
        if r["panel"] == panel["title"] and r["shown_as"] == "crosses":
            ax.plot(number(r["x"]), int(r["row"]), "x", color="black", ms=4)
            ax.annotate("%.3g" % number(r["y"]), (number(r["x"]), int(r["row"])), (0, -8), textcoords="offset points",
                        ha="center", fontsize=6)


panels = figure["panels"]
down = -(-len(panels) // figure["across"])
width, height = figure["size_inches"]
fig, axes = plt.subplots(down, figure["across"], figsize=(width, height), sharex=True,
                         sharey=not figure["does"], squeeze=False,
                         layout="constrained")
for ax, panel in zip(axes.flat, panels):
    for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
        about = figure[name]
        if about["log"]:
            (ax.set_xscale if name == "x" else ax.set_yscale)("log")
        if not panel["heat"] or about["words"]:
            axis.set_ticks([], minor=True)
            axis.set_ticks(about["ticks"], about["labels"])
        (ax.set_xlim if name == "x" else ax.set_ylim)(*about["range"])
    if panel["title"]:
        ax.set_title(panel["title"], loc="left", fontsize=8)
    if panel["heat"]:
        heat(fig, ax, panel)
    elif panel["rows"]:
        spans(ax, panel)
    else:
        draw(ax, panel)
    ax.spines[["top", "right"]].set_visible(False)
for ax in axes.flat[len(panels):]:
    ax.set_visible(False)
fig.suptitle(figure["title"], fontsize=8)
fig.supxlabel(figure["x"]["label"], fontsize=8)
fig.supylabel(figure["y"]["label"], fontsize=8)
entries = {}
for ax in axes.flat:
    for handle, label in zip(*ax.get_legend_handles_labels()):
        if label and not label.startswith("_"):
            entries.setdefault(label, handle)
if len(entries) > 1:
    fig.legend(entries.values(), entries.keys(), loc="upper center", bbox_to_anchor=(.5, 0), ncol=3, frameon=False, fontsize=7)
out = sys.argv[1] if len(sys.argv) > 1 else os.path.splitext(os.path.abspath(__file__))[0] + "-matplotlib.pdf"
fig.savefig(out, bbox_inches="tight")
