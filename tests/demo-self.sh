#!/bin/sh
# `ghswarm demo --repo` on a clone of this project: an issue asks for a new section in README.md, a scripted
# agent writes it, `cargo metadata` verifies. Argument: the ghswarm program.
set -eu
program=$(realpath "$1")
top=$(git rev-parse --show-toplevel)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q "$top" "$work/clone"
cat > "$work/issue.md" <<'ISSUE'
A section on thanks
<!-- GHSWARM_VERIFY_START
verify:
  - cargo metadata --offline --no-deps --format-version 1
  - grep -q '^## Thanks' README.md
GHSWARM_VERIFY_END -->

- [ ] README.md ends with a section "Thanks"
ISSUE
cat > "$work/agent" <<'AGENT'
#!/bin/sh
printf '\n## Thanks\n\nTo everybody who reads this far.\n' >> README.md
git commit -qam "Thank the readers"
AGENT
printf '#!/bin/sh\ngit diff --stat origin/HEAD...HEAD || true\n' > "$work/reviewer"
chmod +x "$work/agent" "$work/reviewer"
"$program" demo --json --repo "$work/clone" --issue "$work/issue.md" \
    --agent "$work/agent {prompt_file}" --review "$work/reviewer {prompt_file}"
