#!/bin/sh
# interesting.sh KIND COMMAND... PROGRAM: exits 1 if the command prints "KIND ..." of the program, for st-reduce. If
# KIND is "crashed", exits 1 if the command ends after "begin ...".
kind=$1
shift
out=$("$@" 2>/dev/null)
case "$kind" in
crashed) [ "$(echo "$out" | tail -n 1 | cut -d ' ' -f 1)" = begin ] && exit 1 ;;
*) echo "$out" | grep -q "^$kind" && exit 1 ;;
esac
exit 0
