#!/bin/sh
# From a configuration of HPCC's simulator (alibaba-edu/High-Precision-Congestion-Control) to a comparison with the
# completion times that it has written. Instead of mix/ here, the second argument may be a folder of your own with
# config.txt, the files that it names, and fct.txt.
#
# mix/ has four flows that never meet. Each takes as long as it does alone: the delays of both ways, 80 ns for a packet
# on either link, and its bytes at 100 Gb/s. mix/fct.txt was worked out so, by hand; theirs looks the same.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
weir=${WEIR:-weir}
out=${1:-$(mktemp -d)}
mix=$(cd "${2:-$here/mix}" && pwd)
mkdir -p "$out"
cd "$out"
cp -R "$mix" mix

# The experiment: comments in it say what has become of each key.
"$weir" import mix/config.txt --out mine.yaml
"$weir" run mine.yaml

# Flow by flow, and slowdowns by size; with --check the exit code is 3 if the two differ.
"$weir" diff mine.yaml mix/fct.txt --check

# The same files as the simulator's, for scripts that read those.
"$weir" export mine.yaml --into exported
echo "$PWD/exported"
