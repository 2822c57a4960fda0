[ "$(sh greet.sh)" = "Hello, world!" ] || { echo "without a name: $(sh greet.sh)"; exit 1; }
[ "$(sh greet.sh Ann)" = "Hello, Ann!" ] || { echo "with a name: $(sh greet.sh Ann)"; exit 1; }
