#!/bin/sh
# A sweep of 200 runs, and its figure as a PDF of one column's width.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
weir=${WEIR:-weir}
out=${1:-$(mktemp -d)}
mkdir -p "$out"
cd "$out"
cp "$here/fairness.yaml" .

# What will run, and how long about?
"$weir" check fairness.yaml | head -n 4

# All runs, on all cores. Ctrl-C stops it, and the same command goes on where it was.
"$weir" run fairness.yaml --check

# The figure: Jain's index over n, 89 mm wide, with the fonts in the file.
"$weir" plot fairness.yaml --x n --y jain --lines scheme,cc --width 89mm --height 60mm \
	--x-label 'connections of the heavy user' --y-label "Jain's index" --title none --to fairness.pdf
echo "$PWD/fairness.pdf"
