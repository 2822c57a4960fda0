# Recipes for everyday work; `just` alone lists them.

_default:
    @just --list

# Watch an issue go from spec to merged on this machine.
demo *ARGS:
    cargo run -- demo {{ARGS}}

# The demo on a copy of this project: an issue that asks for a new section in README.md.
demo-self:
    cargo build
    tests/demo-self.sh target/debug/ghswarm

# All tests.
test:
    cargo test

# What CI checks besides the tests.
check:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings

# Kill the engine at random moments, many times (5 in the suite).
kill ROUNDS="50":
    GHSWARM_ROUNDS={{ROUNDS}} cargo test --test it e2e::kill -- --nocapture

# Eight homes on one issue at once, many times (5 in the suite).
race ROUNDS="100":
    GHSWARM_ROUNDS={{ROUNDS}} cargo test --test it e2e::race -- --nocapture

# Kill engines and supervisors while containers work, many times (10 in the suite).
docker-kill ROUNDS="100":
    GHSWARM_REQUIRE_DOCKER=1 GHSWARM_ROUNDS={{ROUNDS}} cargo test --test it -- docker::life::a_killed docker::whole::an_engine_killed --nocapture

# A hundred claims by hand at once, of as many homes and of one (eight, twice, in the suite).
claim-race CLAIMS="100" ROUNDS="1":
    GHSWARM_CLAIMS={{CLAIMS}} GHSWARM_ROUNDS={{ROUNDS}} cargo test --test it e2e::claim_race -- --nocapture

# Ours and the published gh-issue-lease on one backlog, many times (5 in the suite).
lease-race ROUNDS="50": gh-issue-lease
    GHSWARM_REQUIRE_GH_ISSUE_LEASE=1 GHSWARM_ROUNDS={{ROUNDS}} cargo test --test it lease::race -- --nocapture

# Install the published gh-issue-lease for the tests beside it; gh and node have to be there.
gh-issue-lease:
    npm install --silent --no-audit --no-fund --prefix target/gh-issue-lease gh-issue-lease@0.3.0

# The real Claude Code carries an issue to merged, against a stand-in for its API: no account is needed.
real-claude: claude
    GHSWARM_CLAUDE="$PWD/target/claude/claude" cargo test --test it e2e::real_claude -- --nocapture

# Install the real Claude Code into target/, out of the package that carries it.
claude:
    python3 -m venv target/claude/venv
    target/claude/venv/bin/pip install --quiet claude-agent-sdk==0.2.189
    ln -sf "$(find "$PWD/target/claude/venv" -path '*_bundled/claude')" target/claude/claude

# Somebody meddles at every place of a life (at every eighth in the suite).
interleave:
    GHSWARM_STRIDE=1 cargo test --test it interleave::

# Every write of every kind of life fails once (every twelfth in the suite, but for plain lives).
crash:
    GHSWARM_STRIDE=1 cargo test --test it crash::

# Random worlds on the simulated GitHub, many new ones (a handful of known ones in the suite).
random ROUNDS="200":
    GHSWARM_SEED=$(date +%s) GHSWARM_ROUNDS={{ROUNDS}} cargo test --test it random:: -- --nocapture

# Benchmarks.
bench:
    cargo bench

# Clean builds of the README's two commands, measured.
build-time:
    cargo clean
    bash -c 'time cargo build'
    bash -c 'time cargo test --no-run'
