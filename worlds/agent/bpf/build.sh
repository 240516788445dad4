#!/bin/sh
# Builds the objects into a folder, or here, and cuts off what only a debugger reads where llvm-strip is. The same
# clang gives the same bytes wherever the sources are.
set -eu
cd "$(dirname "$0")"
to=${1:-.}
for name in agent lawtest ncf ncftest; do
	${CLANG:-clang} -O2 -g -target bpf -mcpu=v3 -Wall -Werror -ffile-prefix-map="$(pwd)"=. -c $name.c -o "$to/$name.o"
	! command -v llvm-strip >/dev/null || llvm-strip -g "$to/$name.o"
done
