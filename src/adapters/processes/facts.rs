//! What the run folders of an issue say. It reads; it repairs and removes nothing.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::model::agent::{CommandReport, spent};
use crate::model::agent_stream::AgentFormat;
use crate::model::comment::strip_ansi;
use crate::model::ids::{IssueNumber, Timestamp};
use crate::model::limits::{LEFT_FILE_BYTES_MAX, LOG_TAIL_BYTES};
use crate::model::money::Spent;
use crate::model::run::{BOX_META, RunEnd, RunExit, RunFacts, RunKey, RunSpec, RunStatus};
use crate::ports::PortResult;

use super::folder::{Holder, RunFolder, Started, local, read_json};
use super::table::{self, Roots, Tag};
use super::{adopt, log};

/// All run folders of an issue, oldest first; a name that is no run's is somebody else's.
pub(super) fn folders(root: &Path, issue: IssueNumber) -> PortResult<Vec<(RunKey, RunFolder)>> {
    let what = || format!("list the runs in `{}`", root.display());
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(local(what(), error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| local(what(), error))?;
        let name = entry.file_name();
        let key = name
            .to_str()
            .and_then(|name| format!("{issue}/{name}").parse::<RunKey>().ok());
        if let Some(key) = key.filter(|_| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            let folder = RunFolder::new(entry.path());
            let at = begun_at(&folder);
            found.push((at, key, folder));
        }
    }
    found.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    Ok(found
        .into_iter()
        .map(|(_, key, folder)| (key, folder))
        .collect())
}

fn begun_at(folder: &RunFolder) -> Timestamp {
    if let Ok(Some(started)) = folder.read_started() {
        return started.at;
    }
    modified(folder.path()).unwrap_or_default()
}

fn modified(path: &Path) -> Option<Timestamp> {
    fs::metadata(path)
        .and_then(|meta| meta.modified())
        .ok()
        .map(Timestamp::from)
}

/// One folder.
pub(super) fn facts(key: RunKey, folder: &RunFolder) -> PortResult<RunFacts> {
    let what = || format!("read the run folder `{}`", folder.path().display());
    let status = status_now(&key, folder).map_err(|error| local(what(), error))?;
    let tail = log::tail(&folder.log(), LOG_TAIL_BYTES).map_err(|error| local(what(), error))?;
    let command = match &status {
        RunStatus::Ended(exit) => exit.command,
        RunStatus::Reserved | RunStatus::Running { .. } => current(folder),
    };
    let spec: Option<RunSpec> = read_json(&folder.spec()).ok();
    let reports = reports(folder);
    let tail = words(spec.as_ref(), &reports).unwrap_or(tail);
    let (label, tasks, head) = spec.map_or_else(Default::default, |spec| {
        let label = spec
            .commands
            .get(command)
            .map(|command| command.label.clone());
        (label.unwrap_or_default(), spec.tasks, spec.head)
    });
    Ok(RunFacts {
        key,
        status,
        folder: folder.path().to_owned(),
        label,
        tasks,
        tail,
        question: left(&folder.question()),
        review: left(&folder.review()),
        reports,
        agent_box: Some(folder.agent_box()).filter(|folder| folder.join(BOX_META).exists()),
        head,
    })
}

/// What the agents of all issues under `root` cost in runs that went on after `since`. A file that was
/// written before then is of a run that had ended.
pub(super) fn spent_since(root: &Path, since: Timestamp) -> PortResult<Spent> {
    let what = || format!("add up what was spent in `{}`", root.display());
    let mut sum = Spent::default();
    let issues = match fs::read_dir(root) {
        Ok(issues) => issues,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(sum),
        Err(error) => return Err(local(what(), error)),
    };
    for issue in issues {
        let issue = issue.map_err(|error| local(what(), error))?;
        // Not a directory: nobody's runs.
        let Ok(runs) = fs::read_dir(issue.path()) else {
            continue;
        };
        for run in runs {
            let run = run.map_err(|error| local(what(), error))?;
            let folder = RunFolder::new(run.path());
            if modified(&folder.reports()).is_some_and(|at| at >= since) {
                sum = sum.and(spent(&reports(&folder)));
            }
        }
    }
    Ok(sum)
}

/// What its agents said. A damaged file says nothing: what a run did does not depend on it.
fn reports(folder: &RunFolder) -> Vec<CommandReport> {
    read_json(&folder.reports()).unwrap_or_else(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            tracing::warn!("cannot read `{}`: {error}", folder.reports().display());
        }
        Vec::new()
    })
}

/// What an agent that speaks in JSON said last, for people: its lines are no reading.
fn words(spec: Option<&RunSpec>, reports: &[CommandReport]) -> Option<String> {
    let last = reports.last()?;
    let agent = spec?.commands.get(last.command)?.agent.as_ref()?;
    if agent.format == AgentFormat::Text {
        return None;
    }
    let error = last.report.error.as_ref().map(|error| error.words.clone());
    let text = last.report.text.clone();
    // The result repeats what the error says.
    let text = text.filter(|text| Some(text) != error.as_ref());
    let both: Vec<String> = text.into_iter().chain(error).collect();
    (!both.is_empty()).then(|| strip_ansi(&both.join("\n\n")))
}

/// Index of the command that was started last.
pub(super) fn current(folder: &RunFolder) -> usize {
    fs::read_to_string(folder.current())
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0)
}

/// The status, with the doubt about the worktree as it is now: it lasts as long as something of the
/// run is alive. A process table that cannot be read leaves the doubt.
fn status_now(key: &RunKey, folder: &RunFolder) -> io::Result<RunStatus> {
    let mut status = status(folder)?;
    if let RunStatus::Ended(exit) = &mut status
        && may_have_strays(exit)
    {
        exit.quarantined = table::members(&Tag::of(key, folder.path()), &Roots::default())
            .map_or(true, |strays| !strays.is_empty());
    }
    Ok(status)
}

/// Can something of this run be alive? Every other supervisor saw it end.
pub(super) fn may_have_strays(exit: &RunExit) -> bool {
    exit.quarantined || exit.end == RunEnd::SupervisorDied
}

/// The status alone.
pub(super) fn status(folder: &RunFolder) -> io::Result<RunStatus> {
    // `exit.json` comes first: after it the supervisor may go on holding lock and lease.
    if let Some(ended) = ended(folder)? {
        return Ok(ended);
    }
    let holder = folder.holder()?;
    let started = folder.read_started()?;
    match (holder, started) {
        (Holder::Alive, started) => {
            let since = started.map_or_else(|| begun_at(folder), |started| started.at);
            Ok(RunStatus::Running {
                since,
                frozen: folder.frozen().exists(),
            })
        }
        (Holder::Nobody, None) => Ok(RunStatus::Reserved),
        // The supervisor may have ended well since the first look: `exit.json` is written before
        // the lock is freed.
        (Holder::Nobody, Some(started)) => match ended(folder)? {
            Some(ended) => Ok(ended),
            None if adopt::goes_on(folder)? => Ok(RunStatus::Running {
                since: started.at,
                frozen: folder.frozen().exists(),
            }),
            None => Ok(died(
                folder,
                &started,
                "the supervisor died and left no exit.json",
            )),
        },
    }
}

fn ended(folder: &RunFolder) -> io::Result<Option<RunStatus>> {
    match read_json::<RunExit>(&folder.exit()) {
        Ok(exit) => Ok(Some(RunStatus::Ended(exit))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied) => Err(error),
        Err(error) => {
            let started = folder.read_started()?;
            let at = begun_at(folder);
            let started = started.unwrap_or(Started {
                pid: 0,
                boot: None,
                at,
            });
            Ok(Some(died(
                folder,
                &started,
                &format!("exit.json is damaged: {error}"),
            )))
        }
    }
}

fn died(folder: &RunFolder, started: &Started, note: &str) -> RunStatus {
    RunStatus::Ended(RunExit {
        end: RunEnd::SupervisorDied,
        code: None,
        signal: None,
        command: current(folder),
        started_at: started.at,
        ended_at: modified(&folder.log())
            .unwrap_or(started.at)
            .max(started.at),
        quarantined: false,
        note: Some(note.to_owned()),
    })
}

/// A file the run left, if the supervisor found it good.
fn left(path: &Path) -> Option<String> {
    let file = fs::File::open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(LEFT_FILE_BYTES_MAX)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
