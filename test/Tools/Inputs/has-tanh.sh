#!/bin/sh
# Exits 1, "interesting", if the program has a tanh of a value of eight rows.
grep -q 'stablehlo.tanh.*tensor<8x4xf32>' "$1" && exit 1
exit 0
