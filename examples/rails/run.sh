#!/bin/sh
# 128 GPUs on rails train next to a storage incast, under HPCC++ and under DCQCN: tables, claims and a figure.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
weir=${WEIR:-weir}
out=${1:-$(mktemp -d)}
mkdir -p "$out"
cd "$out"
cp "$here/rails.yaml" .

# What will run, and how long about?
"$weir" check rails.yaml | head -n 4

# All four points. The exit code says whether the claims at the end of the file hold.
"$weir" run rails.yaml --check

# The figure: the slowest iteration with and without the checkpoint, 89 mm wide.
"$weir" plot rails.yaml --x part --y job_iteration_max --lines scheme --kind bars --width 89mm --height 60mm \
	--x-label 'written by each of 64 GPUs' --y-label 'slowest iteration [ms]' --title none --to rails.pdf
echo "$PWD/rails.pdf"
