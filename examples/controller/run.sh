#!/bin/sh
# A controller of one's own (gentle/gentle.go) in a weir of one's own (main.go), compared with two others in a table.
# The program has no plots, which need more modules: import _ "weir/app/figure" in main.go adds them.
# WEIR names that weir if it is built already.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$(mktemp -d)}
mkdir -p "$out"
out=$(cd "$out" && pwd)

# Build the program: the simulator, and the controller. It needs Go, and the network the first time.
weir=${WEIR:-$out/weir}
[ -n "${WEIR:-}" ] || (cd "$here" && go build -o "$weir" .)

cd "$out"
cp "$here/gentle.yaml" .
"$weir" show gentle # its parameters, with their defaults
"$weir" run gentle.yaml --check
"$weir" report gentle.yaml --format markdown > gentle.md
echo "$out/gentle.md"
