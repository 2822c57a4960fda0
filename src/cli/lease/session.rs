//! One call of a lease verb: who asks, in which repository, how long GitHub is waited for, and which failures
//! mean "go on without a lease".

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::super::environment::Env;
use super::super::error::{CommandError, Kind};
use super::super::tool::{Asked, Patience, Tool};
use super::said;
use crate::adapters::locks;
use crate::adapters::memory::FileMemory;
use crate::engine::leases::{Doors, Leases};
use crate::ports::clock::Clock;
use crate::ports::memory::Memory;
use crate::ports::{PortError, PortResult, Refusal};

/// Bytes of a name that people read.
const AGENT_ID_MAX: usize = 200;

/// Minutes a lease lives where nobody says otherwise.
const TTL_MIN: u64 = 240;

/// A rate limit that is over within this time is waited for; a longer one is an outage to a script.
const LIMIT_WAIT_MAX: Duration = Duration::from_secs(30);

/// So often a rate limit is waited for.
const RETRIES: u32 = 5;

/// Who asks: `AGENT_ID`, where that is a name.
pub fn identity(env: &Env) -> Option<String> {
    let set = env.get("AGENT_ID").map(|id| id.trim().to_owned());
    set.filter(|id| wrong_with(id).is_none())
}

/// Why nobody can tell who asks, and what to do.
pub fn no_identity(env: &Env) -> String {
    let set = env.get("AGENT_ID").unwrap_or_default();
    let wrong = wrong_with(set.trim()).unwrap_or("is not set");
    format!("AGENT_ID {wrong}. {}", said::NO_IDENTITY)
}

/// Others read it in a line of their terminal, and it stands in every lease.
fn wrong_with(id: &str) -> Option<&'static str> {
    if id.is_empty() {
        Some("is not set")
    } else if id.chars().any(char::is_control) {
        Some("holds a line end or another control character")
    } else if id.len() > AGENT_ID_MAX {
        Some("is longer than 200 bytes")
    } else {
        None
    }
}

/// Minutes a lease of ours lives.
pub fn ttl_min(env: &Env) -> Result<u64, CommandError> {
    let Some(text) = env.get("AGENT_LEASE_TTL_MIN") else {
        return Ok(TTL_MIN);
    };
    let minutes = text.trim().parse().ok();
    minutes.filter(|n| (1..=1440).contains(n)).ok_or_else(|| {
        let what = format!("AGENT_LEASE_TTL_MIN is `{text}`");
        CommandError::new(Kind::Usage, what).hint("write minutes, from 1 to 1440")
    })
}

/// Why a verb did not do its work.
pub enum Trouble {
    /// GitHub cannot be asked, or not with this token: the caller goes on without a lease.
    Degraded(String),
    /// The caller must not go on as if all were well.
    Failed(CommandError),
}

impl Trouble {
    fn of(error: &PortError, slug: &str) -> Self {
        match error.refusal() {
            None | Some(Refusal::Unauthorised) => Self::Degraded(error.to_string()),
            Some(refusal) => Self::Failed(refused(error, refusal, slug)),
        }
    }
}

/// A repository that lets nobody lease must not look like one where the lease was won.
fn refused(error: &PortError, refusal: Refusal, slug: &str) -> CommandError {
    let name = match refusal {
        Refusal::RepositoryEmpty => "repository_empty",
        Refusal::RepositoryArchived => "repository_archived",
        Refusal::NoContentsWrite => "no_contents_write",
        Refusal::RefsRestricted => "refs_restricted",
        Refusal::Forbidden => "forbidden",
        Refusal::NotFound => "not_found",
        Refusal::Unauthorised
        | Refusal::Stale
        | Refusal::Exists
        | Refusal::Invalid
        | Refusal::Local => "refused",
    };
    let hint = match refusal {
        Refusal::RepositoryEmpty => "a lease points at a commit: push a first one",
        Refusal::RepositoryArchived => "unarchive the repository in its settings on GitHub",
        Refusal::RefsRestricted => {
            "a rule of the repository forbids refs outside branches and tags"
        }
        Refusal::NotFound => "check the name, and that the token may see the repository",
        Refusal::NoContentsWrite
        | Refusal::Forbidden
        | Refusal::Unauthorised
        | Refusal::Stale
        | Refusal::Exists
        | Refusal::Invalid
        | Refusal::Local => "the token needs to be allowed to write the repository's contents",
    };
    let what = format!("`{slug}` cannot be leased in: {name}");
    CommandError::outside(what, error.clone()).hint(hint)
}

/// The leases of the repository that is meant, ready to be asked.
pub struct Session {
    /// The verbs.
    pub leases: Leases,
    slug: String,
    retries: u32,
}

impl Session {
    /// Finds the repository and the token; sends nothing.
    pub fn open(env: &Env, asked: Asked<'_>, patience: Patience) -> Result<Self, Trouble> {
        let ttl_min = ttl_min(env).map_err(Trouble::Failed)?;
        // 3, the status of a wrong configuration, means here that there is no identity.
        let tool = Tool::find(env, asked).map_err(|error| Trouble::Failed(error.into_outside()))?;
        let github = tool
            .connect(env, patience)
            .map_err(|error| Trouble::Degraded(in_one_line(&error)))?;
        let slug = tool.slug().to_string();
        let doors = Doors {
            github: github.clone(),
            backlog: github,
            clock: tool.clock.clone(),
            memory: Arc::new(LateMemory::of(&tool)),
            random: Arc::new(|| format!("{:016x}", rand::random::<u64>())),
        };
        let leases = Leases {
            doors,
            namespace: tool.config.lease.namespace.clone(),
            margins: tool.config.lease.margins,
            owner: identity(env).unwrap_or_default(),
            ttl_min,
            host: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
            pid: std::process::id(),
        };
        Ok(Self {
            leases,
            slug,
            retries: retries(env).unwrap_or(RETRIES),
        })
    }

    /// Runs a verb; a short rate limit is waited for, since every verb may be said twice.
    pub async fn ask<T>(&self, verb: impl AsyncFn(&Leases) -> PortResult<T>) -> Result<T, Trouble> {
        let clock: &dyn Clock = &*self.leases.doors.clock;
        for left in (0..=self.retries).rev() {
            let error = match verb(&self.leases).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let PortError::Unavailable {
                retry_at: Some(at), ..
            } = &error
            else {
                return Err(Trouble::of(&error, &self.slug));
            };
            let wait = (*at - clock.now()).to_std().unwrap_or_default();
            if left == 0 || wait > LIMIT_WAIT_MAX {
                return Err(Trouble::of(&error, &self.slug));
            }
            clock.sleep(wait).await;
        }
        Err(Trouble::Degraded("GitHub's rate limit goes on".to_owned()))
    }
}

/// How long verbs that a person or script waits for are patient.
pub fn patience(env: &Env) -> Patience {
    let usual = Patience::default();
    Patience {
        read_retries: retries(env).unwrap_or(usual.read_retries),
        ..usual
    }
}

fn retries(env: &Env) -> Option<u32> {
    let number = env.get("GH_ISSUE_LEASE_MAX_RETRY")?.trim().parse().ok()?;
    // With doubling pauses ten are twenty minutes.
    Some(u32::min(number, 10))
}

/// An error with its cause, for one line of a warning.
pub fn in_one_line(error: &CommandError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// A memory in ghswarm's home, which is made only if something is to be remembered: the verbs leave nothing
/// behind on a machine that only leases.
struct LateMemory {
    home: PathBuf,
    files: FileMemory,
}

impl LateMemory {
    fn of(tool: &Tool) -> Self {
        let slug = tool.slug();
        let folder = format!("{}__{}-leases", slug.owner, slug.name);
        Self {
            files: FileMemory::new(&Path::new(&tool.home).join("repositories").join(folder)),
            home: tool.home.clone(),
        }
    }
}

impl Memory for LateMemory {
    fn load(&self, name: &str) -> Option<String> {
        self.files.load(name)
    }

    fn save(&self, name: &str, text: &str) {
        match locks::ensure_home(&self.home) {
            Ok(_) => self.files.save(name, text),
            Err(error) => tracing::warn!(%error, "cannot remember a lease that cannot be read"),
        }
    }

    fn unwritable(&self) -> Option<String> {
        self.files.unwritable()
    }
}
