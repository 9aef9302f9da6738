#!/bin/sh
# interesting.sh ST-DIFFERENTIAL KIND PROGRAM: exits 1 if the program still fails in this way, for st-reduce.
# mlir-reduce passes the program's path first, as the name by which a program is called, and last.
out=$("$1" "$3" 2>/dev/null)
case "$2" in
crashed) [ "$(echo "$out" | tail -n 1 | cut -d ' ' -f 1)" = begin ] && exit 1 ;;
*) echo "$out" | grep -q "^$2 " && exit 1 ;;
esac
exit 0
