#!/bin/sh
# `check_python.sh PYTHON TARGET`: whether this Python can run Cogency; else one sentence, in place of pip's long one.
# It names a newer one that really starts: pyenv has a command also for versions that it does not offer here.
probe='import sys; print(".".join(map(str, sys.version_info[:3]))); sys.exit(sys.version_info < (3, 11))'
version=$("$1" -c "$probe" 2>/dev/null) && exit 0
if [ -n "$version" ]; then found="$1 is $version"; else found="$1 cannot be started"; fi
for newer in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$newer" -c "$probe" >/dev/null 2>&1; then
        echo "Cogency needs Python 3.11 or later; $found. Try: make $2 PYTHON=$newer" >&2
        exit 1
    fi
done
echo "Cogency needs Python 3.11 or later; $found. Install a newer one, then: make $2 PYTHON=/path/to/python3" >&2
exit 1
