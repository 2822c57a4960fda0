//! How a container ended: its command's own end, too much memory, or the engine's leaving. It only asks the
//! engine; what follows from the answer is the life's and the supervisor's.

use std::collections::HashMap;
use std::time::Duration;

use bollard::models::ContainerState;
use bollard::query_parameters::{EventsOptionsBuilder, WaitContainerOptionsBuilder};
use futures_util::StreamExt as _;

use super::{Engine, away, pause, status};
use crate::model::limits::{
    CONTAINER_AWAY_LOOK, CONTAINER_AWAY_MAX, ENGINE_LEAVES_WITHIN, OOM_LATE_MAX,
};
use crate::model::sandbox::Caps;
use crate::ports::PortResult;
use crate::ports::processes::ChildEnd;

/// What an engine says of a container.
pub(super) enum Found {
    Nothing,
    Running,
    Ended(ChildEnd),
}

/// What a shell says of a command that a signal ended.
const KILLED_BY_TERM: i32 = 128 + 15;
const KILLED_BY_KILL: i32 = 128 + 9;

/// Did the engine answer all the time?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company {
    Kept,
    Left,
}

/// It was ended before it began.
pub(super) const KILLED: ChildEnd = ChildEnd::Signal(9);

/// Waits for the end. An engine that is away, for an upgrade say, is waited for.
pub(super) async fn wait(
    engine: &Engine,
    id: &str,
    caps: &Caps,
) -> PortResult<(ChildEnd, Company)> {
    let mut away_for = Duration::ZERO;
    let mut company = Company::Kept;
    loop {
        let options = WaitContainerOptionsBuilder::default().build();
        let stream = engine.patient.wait_container(id, Some(options));
        // Whatever it answers: the look tells. (A status other than 0 is an error here.)
        let _ = std::pin::pin!(stream).next().await;
        match look(engine, id, caps).await {
            Ok(Found::Ended(end)) => return Ok((end, company)),
            // Somebody removed it.
            Ok(Found::Nothing) => return Ok((KILLED, company)),
            Ok(Found::Running) => away_for = Duration::ZERO,
            Err(error) if away_for >= CONTAINER_AWAY_MAX => return Err(error),
            Err(_) => {
                company = Company::Left;
                away_for += CONTAINER_AWAY_LOOK;
            }
        }
        pause(CONTAINER_AWAY_LOOK).await;
    }
}

pub(super) async fn look(engine: &Engine, id: &str, caps: &Caps) -> PortResult<Found> {
    let state = match engine.docker.inspect_container(id, None).await {
        Ok(found) => found.state.unwrap_or_default(),
        Err(error) if status(&error) == Some(404) => return Ok(Found::Nothing),
        Err(error) => return Err(away("look at the container", &error)),
    };
    let words = state.status.map(|status| status.to_string());
    if !matches!(words.as_deref(), Some("exited" | "dead")) {
        return Ok(Found::Running);
    }
    let code = state.exit_code.and_then(|code| i32::try_from(code).ok());
    Ok(Found::Ended(
        if state.oom_killed == Some(true)
            || (caps.memory.is_some() && oom_event(engine, id, &state).await)
        {
            // A child that was killed for its memory may leave a parent that exits as if nothing was.
            ChildEnd::OutOfMemory
        } else {
            code.map_or(KILLED, ChildEnd::Code)
        },
    ))
}

/// Does the engine hear of it after the end? Its word in the container's state is that of the moment when
/// the command ended, and the kernel's two messages come in any order.
async fn oom_event(engine: &Engine, id: &str, state: &ContainerState) -> bool {
    let seconds = |time: &Option<String>| {
        let time = chrono::DateTime::parse_from_rfc3339(time.as_deref()?).ok()?;
        Some(time.timestamp_micros())
    };
    let (Some(since), Some(end)) = (seconds(&state.started_at), seconds(&state.finished_at)) else {
        return false;
    };
    let late = i64::try_from(OOM_LATE_MAX.as_micros()).unwrap_or_default();
    let words = |micros: i64| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    let filters = HashMap::from([("container", vec![id]), ("event", vec!["oom"])]);
    let options = EventsOptionsBuilder::default()
        .since(&words(since))
        .until(&words(end + late))
        .filters(&filters);
    let mut events = std::pin::pin!(engine.docker.events(Some(options.build())));
    matches!(events.next().await, Some(Ok(_)))
}

/// An engine that is shut down, for an upgrade say, kills its containers: that is no word about the work.
pub(super) async fn went_with_the_engine(engine: &Engine, end: ChildEnd, was: Company) -> bool {
    if !matches!(end, ChildEnd::Code(KILLED_BY_TERM | KILLED_BY_KILL)) {
        return false;
    }
    let mut left = ENGINE_LEAVES_WITHIN;
    while was == Company::Kept && !left.is_zero() {
        if engine.docker.ping().await.is_err() {
            return true;
        }
        pause(CONTAINER_AWAY_LOOK).await;
        left = left.saturating_sub(CONTAINER_AWAY_LOOK);
    }
    was == Company::Left
}
