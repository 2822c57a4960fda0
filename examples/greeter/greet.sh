#!/bin/sh
# Prints a greeting: greet.sh [NAME]
name=${1:-world}
printf 'Hello, %s!\n' "$name"
