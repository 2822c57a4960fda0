#!/bin/sh
# A scripted stand-in for a reviewing CLI.
set -eu
echo "reading the diff"
git diff --stat origin/main...HEAD
echo "nothing to object"
