#!/bin/sh
# Tests of greet.sh. Each test_*.sh in tests/ is one test.
set -u
failed=0
for test in tests/test_*.sh; do
    if sh "$test"; then
        echo "ok   $test"
    else
        echo "FAIL $test"
        failed=1
    fi
done
exit "$failed"
