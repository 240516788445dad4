#!/bin/sh
# A controller of one's own (gentle/gentle.go) in a weir of one's own (main.go), compared with two others in a figure.
# WEIR names that weir if it is built already.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$(mktemp -d)}
mkdir -p "$out"
out=$(cd "$out" && pwd)

# Build the program: all of Weir, and the controller. It needs Go, and the network the first time.
weir=${WEIR:-$out/weir}
[ -n "${WEIR:-}" ] || (cd "$here" && go build -o "$weir" .)

cd "$out"
cp "$here/gentle.yaml" .
"$weir" show gentle # its parameters, with their defaults
"$weir" run gentle.yaml --check
"$weir" plot gentle.yaml --x buffer --y utilisation --lines cc --width 89mm --to gentle.pdf
echo "$out/gentle.pdf"
