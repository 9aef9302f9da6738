#!/usr/bin/env bash
# Builds the wheel of the JAX plugin.
#
#   scripts/build-wheel.sh [-o FOLDER]
#
# Installs the dependencies, builds the plugin's library and puts a wheel into FOLDER (default: dist). The wheel holds
# the library, stripped, and the Debian libraries that it needs other than glibc and libstdc++.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

into=dist
if [ "${1:-}" = -o ] && [ $# -eq 2 ]; then
  into=$2
elif [ $# -ne 0 ]; then
  echo "build-wheel: error: expected no argument or -o FOLDER, found: $*" >&2
  exit 1
fi

scripts/setup.sh pjrt_plugin_st
mkdir -p "$into"
into=$(cd "$into" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r plugins/pjrt/python/. "$work"
package=$work/jax_plugins/st
strip=$(command -v llvm-strip-22 || command -v strip)
"$strip" -o "$package/pjrt_plugin_st.so" build/lib/pjrt_plugin_st.so

# The library looks for others in its own folder first.
ldd build/lib/pjrt_plugin_st.so | awk '$2 == "=>" { print $1, $3 }' | while read -r name path; do
  case $name in
  libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | libgcc_s.so* | libstdc++.so* | ld-linux*) ;;
  *) cp -L "$path" "$package/$name" ;;
  esac
done

# A separate virtual environment: Debian's Python cannot build wheels.
python3 -m venv "$work/.builder"
"$work/.builder/bin/python" -m pip install -q --disable-pip-version-check 'setuptools>=70.1' wheel
(cd "$work" && .builder/bin/python -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w "$into" .)
ls -1 "$into"/st_jax-*.whl
