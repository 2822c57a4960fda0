//! Every key there is: one table, from which the checks, the schema and the example's test are made.
//! It holds no logic; `check` gives the kinds and rules their meaning.

mod nested;
mod repository;

pub(super) use nested::TEST_MARGINS;
pub(super) use repository::REPOSITORY;

/// What a key wants.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// `true` or `false`.
    Switch,
    /// A whole number, both ends included.
    Count(i64, i64),
    /// A number that need not be whole, 0 or more.
    Number,
    /// Seconds, or a number with a unit; milliseconds, both ends included.
    Time(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// `true`, `false` or `human`.
    Approval,
    /// `true`, `false` or the names of the variables to keep.
    EnvClear,
    /// Text that keeps the rule.
    Text(Rule),
    /// A list of such texts.
    Texts(Rule),
    /// One text or a list of at least one.
    Commands,
    /// Names of variables and their values, which may be secrets.
    Variables,
    /// A mapping of these keys, which is there whether it is written or not.
    Section(&'static [Key]),
    /// A mapping of these keys that means something by being there.
    Optional(&'static [Key]),
    /// One mapping for all steps, or a list of mappings.
    Verify(&'static [Key], &'static [Key]),
    /// Names of the user's choice, each with a mapping of these keys.
    Named(&'static [Key]),
}

/// What a text has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Any,
    /// A secret: never shown.
    Secret,
    Slug,
    Path,
    PathOrOff,
    BranchOrEmpty,
    BranchPrefix,
    /// A path in the worktree, without `..`.
    Inside,
    /// A file in the worktree that an agent may write.
    QuestionFile,
    Glob,
    Pattern,
    Label,
    Login,
    LoginOrEmpty,
    Association,
    Namespace,
    Marker,
    Url,
    Variable,
    /// Who a container's command is.
    BoxUser,
    /// A mount of a container.
    Volume,
    /// Bytes, or empty.
    Size,
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// As YAML; `None`: there is none, and where the kind is no mapping the key is required.
    pub(super) default: Option<&'static str>,
    /// One line for people.
    pub(super) about: &'static str,
    /// Another value than the default is refused; what stands in its place today.
    pub(super) not_yet: Option<&'static str>,
}

const fn key(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key {
        name,
        kind,
        default: Some(default),
        about,
        not_yet: None,
    }
}

const fn required(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key {
        name,
        kind,
        default: None,
        about,
        not_yet: None,
    }
}

const fn section(name: &'static str, keys: &'static [Key], about: &'static str) -> Key {
    Key {
        name,
        kind: Kind::Section(keys),
        default: None,
        about,
        not_yet: None,
    }
}

const fn optional(name: &'static str, keys: &'static [Key], about: &'static str) -> Key {
    Key {
        name,
        kind: Kind::Optional(keys),
        default: None,
        about,
        not_yet: None,
    }
}

impl Key {
    const fn not_yet(self, today: &'static str) -> Self {
        Self {
            not_yet: Some(today),
            ..self
        }
    }
}

/// An hour and more in milliseconds: the longest that times may be. What is longer is a slip of the
/// pen (a unit too many), and would stop everything without a word.
const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;
const MONTH: u64 = 30 * DAY;
const YEAR: u64 = 365 * DAY;
/// Each try is an agent that somebody pays.
const RETRIES: i64 = 1000;
/// More than anybody means.
const MANY: i64 = 1_000_000;
/// The same for tokens and ids.
const VAST: i64 = 1_000_000_000_000;

/// The top level.
pub(super) const TOP: &[Key] = &[
    Key {
        name: "repositories",
        kind: Kind::Named(REPOSITORY),
        default: None,
        about: "the repositories to work on, each under a name of your choice",
        not_yet: None,
    },
    section(
        "defaults",
        REPOSITORY,
        "what every repository begins with; the same keys",
    ),
    key(
        "max_parallel_repos",
        Kind::Count(1, 1000),
        "3",
        "repositories stepped at the same time",
    ),
    key(
        "daemon_log",
        Kind::Text(Rule::Path),
        "~/.ghswarm/ghswarm.log",
        "log of the loop; the start date is inserted",
    )
    .not_yet("`loop` logs to standard error"),
    key(
        "daemon_pid",
        Kind::Text(Rule::Path),
        "~/.ghswarm/ghswarm.pid",
        "held by the one running loop of this home",
    ),
    key(
        "keep_awake",
        Kind::Switch,
        "false",
        "keep the machine from sleeping while an agent runs",
    )
    .not_yet("use caffeinate or systemd-inhibit"),
    section("log", LOG, "what the log looks like"),
];

const LOG: &[Key] = &[
    key(
        "format",
        Kind::Word(&["text", "json"]),
        "text",
        "lines for people or for programs",
    )
    .not_yet("`loop` logs text to standard error"),
    key(
        "keep_days",
        Kind::Count(1, MANY),
        "14",
        "older logs are deleted",
    )
    .not_yet("`loop` logs to standard error"),
];

/// A key that Python ghswarm had.
#[derive(Debug)]
pub(super) struct Removed {
    pub(super) name: &'static str,
    pub(super) instead: &'static str,
}

/// Keys of Python ghswarm that are gone, wherever they stand.
pub(super) const REMOVED: &[Removed] = &[
    Removed {
        name: "test_command",
        instead: "remove it and write the command into each issue's `GHSWARM_VERIFY` block, as `verify: COMMAND`",
    },
    Removed {
        name: "sandbox",
        instead: "write `verify: {sandbox: {…}}` for verify steps and `agents: {sandbox: {…}}` for agents",
    },
    Removed {
        name: "spec_dir",
        instead: "remove it: the issue's body is the spec",
    },
];
