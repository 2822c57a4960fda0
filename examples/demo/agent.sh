#!/bin/sh
# A scripted stand-in for a coding CLI: it reads the prompt, edits files, commits. Its first try is wrong,
# so that the demo shows what a failed verify step does; the second try has read the log.
set -eu
prompt=$1
echo "reading the prompt ($(wc -l < "$prompt") lines)"

cat > tests/test_shout.sh <<'TEST'
[ "$(sh greet.sh --shout Ann)" = "HELLO, ANN!" ] || { echo "shouted: $(sh greet.sh --shout Ann)"; exit 1; }
TEST

if grep -q 'An earlier try failed' "$prompt"; then
    echo "the tests failed before: the name has to be in capitals, too"
    greeting='printf "Hello, %s!\n" "$name" | tr "[:lower:]" "[:upper:]"'
else
    echo "adding --shout"
    greeting='printf "HELLO, %s!\n" "$name"'
fi

cat > greet.sh <<SCRIPT
#!/bin/sh
# Prints a greeting: greet.sh [--shout] [NAME]
shout=no
if [ "\${1:-}" = --shout ]; then
    shout=yes
    shift
fi
name=\${1:-world}
if [ "\$shout" = yes ]; then
    $greeting
else
    printf 'Hello, %s!\n' "\$name"
fi
SCRIPT

cat > README.md <<'TEXT'
# greeter

`sh greet.sh [--shout] [NAME]` prints a greeting, in capitals with `--shout`. `sh test.sh` runs the tests.
TEXT

git add -A
git commit -q -m "Greet loudly with --shout" || echo "nothing new to commit"
echo "done"
