//! The history in an `SQLite` file. Derived data: no failure here may ever stop or fail a step.
//!
//! Schema, version 1 (`PRAGMA user_version`):
//!
//! ```sql
//! CREATE TABLE events (
//!     id         INTEGER PRIMARY KEY,  -- order of recording
//!     at         TEXT NOT NULL,        -- RFC 3339, UTC, milliseconds: sorts as text
//!     repository TEXT NOT NULL,        -- alias in the configuration
//!     issue      INTEGER,              -- NULL: concerns no issue
//!     kind       TEXT NOT NULL,        -- step, run, state_restored, lease_stolen, …
//!     phase      TEXT,                 -- phase of the issue then
//!     what       TEXT NOT NULL,        -- one line for people
//!     detail     TEXT NOT NULL         -- JSON
//! );
//! CREATE INDEX events_of_issue ON events (repository, issue, at);
//! ```

use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use chrono::SecondsFormat;
use rusqlite::{Connection, Row, TransactionBehavior, params};

use crate::model::ids::{IssueNumber, Timestamp};
use crate::ports::events::{Event, EventQuery, Events};

/// One entry a version: what brings the version before it there.
const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        repository TEXT NOT NULL,
        issue INTEGER,
        kind TEXT NOT NULL,
        phase TEXT,
        what TEXT NOT NULL,
        detail TEXT NOT NULL
    );
    CREATE INDEX events_of_issue ON events (repository, issue, at);
"];

/// How long a write waits for another process's: longer would be felt in a step.
const BUSY_WAIT: Duration = Duration::from_secs(2);

/// Between two tries of what `SQLite` does not wait for by itself.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// What happened is the user's business alone.
const MODE: u32 = 0o600;

/// So many events are read where the query sets no limit.
const READ_MAX: u32 = 100_000;

/// The event store in one file.
pub struct SqliteEvents {
    path: PathBuf,
    busy_wait: Duration,
    // `None` until the first use that could open it: a store that cannot be opened now is tried
    // again at the next event.
    open: Mutex<Option<Connection>>,
}

#[derive(Debug, thiserror::Error)]
enum StoreError {
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("its version {found} is newer than this program's {}", MIGRATIONS.len())]
    Newer { found: usize },
}

impl SqliteEvents {
    /// Keeps its events at `path`; the file is made at the first event.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            busy_wait: BUSY_WAIT,
            open: Mutex::new(None),
        }
    }

    fn with<T>(
        &self,
        use_it: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut open = self
            .open
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut connection = match open.take() {
            Some(connection) => connection,
            None => connect(&self.path, self.busy_wait)?,
        };
        let result = use_it(&mut connection);
        // After a failure the file may have been replaced or repaired: open it anew next time.
        if result.is_ok() {
            *open = Some(connection);
        }
        result
    }

    fn insert(&self, event: &Event) -> Result<(), StoreError> {
        let detail = serde_json::to_string(&event.detail)?;
        self.with(|connection| {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            change.execute(
                "INSERT INTO events (at, repository, issue, kind, phase, what, detail)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    time_text(event.at),
                    event.repository,
                    event.issue.map(number),
                    event.kind,
                    event.phase,
                    event.what,
                    detail,
                ],
            )?;
            Ok(change.commit()?)
        })
    }

    fn select(&self, query: &EventQuery) -> Result<Vec<Event>, StoreError> {
        // Reading must not make the file.
        if !self.path.try_exists()? {
            return Ok(Vec::new());
        }
        self.with(|connection| {
            let mut statement = connection.prepare(
                "SELECT at, repository, issue, kind, phase, what, detail FROM events
                 WHERE (?1 IS NULL OR repository = ?1) AND (?2 IS NULL OR issue = ?2)
                   AND (?3 IS NULL OR at >= ?3)
                 ORDER BY id DESC LIMIT ?4",
            )?;
            let rows = statement.query_map(
                params![
                    query.repository,
                    query.issue.map(number),
                    query.since.map(time_text),
                    query.limit.unwrap_or(READ_MAX),
                ],
                event_of,
            )?;
            let mut events = rows.collect::<Result<Vec<_>, _>>()?;
            events.reverse();
            Ok(events)
        })
    }
}

impl Events for SqliteEvents {
    fn record(&self, event: &Event) {
        if let Err(error) = self.insert(event) {
            tracing::warn!(path = %self.path.display(), %error, what = event.what,
                "cannot record an event");
        }
    }

    fn read(&self, query: &EventQuery) -> Result<Vec<Event>, String> {
        self.select(query).map_err(|error| {
            format!(
                "cannot read the events in `{}`: {error}; if the file is damaged, move it away and \
                 a new one is made",
                self.path.display()
            )
        })
    }
}

fn connect(path: &Path, busy_wait: Duration) -> Result<Connection, StoreError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    keep_private(path)?;
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(busy_wait)?;
    write_ahead(&connection, busy_wait)?;
    // The last events may be lost in a power cut, never the file.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    migrate(&mut connection)?;
    Ok(connection)
}

/// Made before `SQLite` would, for which every user may read it; its companions get the same mode.
fn keep_private(path: &Path) -> Result<(), StoreError> {
    match std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .open(path)
    {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            // One of an older ghswarm. Where it is somebody else's, that is theirs to say.
            if std::fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
                let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(MODE));
            }
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Readers and the one writer do not block each other in this mode. `SQLite` refuses the switch at once
/// while another connection makes the same, without regard to the busy timeout: it is asked again.
#[allow(
    clippy::disallowed_methods,
    reason = "waits for another process's lock as the busy timeout does, which is real time too"
)]
fn write_ahead(connection: &Connection, busy_wait: Duration) -> Result<(), StoreError> {
    let mut waited = Duration::ZERO;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) && waited < busy_wait => {
                std::thread::sleep(BUSY_PAUSE);
                waited += BUSY_PAUSE;
            }
            result => return Ok(result?),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

fn version(connection: &Connection) -> Result<usize, StoreError> {
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(found).unwrap_or(usize::MAX))
}

fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    if version(connection)? == MIGRATIONS.len() {
        return Ok(());
    }
    // Asked again under the write lock: another process may have migrated meanwhile.
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&change)?;
    let Some(missing) = MIGRATIONS.get(found..) else {
        return Err(StoreError::Newer { found });
    };
    for migration in missing {
        change.execute_batch(migration)?;
    }
    change.pragma_update(
        None,
        "user_version",
        i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX),
    )?;
    Ok(change.commit()?)
}

fn time_text(at: Timestamp) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// `SQLite`'s numbers are signed; no issue number comes near the limit.
fn number(issue: IssueNumber) -> i64 {
    i64::try_from(issue.0).unwrap_or(i64::MAX)
}

fn event_of(row: &Row<'_>) -> rusqlite::Result<Event> {
    let at: String = row.get(0)?;
    let at = at.parse::<Timestamp>().map_err(|e| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(e))
    })?;
    let issue: Option<i64> = row.get(2)?;
    let detail: String = row.get(6)?;
    Ok(Event {
        at,
        repository: row.get(1)?,
        issue: issue.and_then(|n| u64::try_from(n).ok()).map(IssueNumber),
        kind: row.get(3)?,
        phase: row.get(4)?,
        what: row.get(5)?,
        detail: serde_json::from_str(&detail).unwrap_or(serde_json::Value::String(detail)),
    })
}

/// No history: `event_db: ""`.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvents;

impl Events for NoEvents {
    fn record(&self, _event: &Event) {}

    fn read(&self, _query: &EventQuery) -> Result<Vec<Event>, String> {
        Err("the history is switched off (`event_db` is empty)".to_owned())
    }
}

#[cfg(test)]
mod tests;
