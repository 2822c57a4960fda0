//! REST: jobs of GitHub Actions. Logs lie on another host, whose addresses are signed in themselves.

use serde_json::json;

use super::super::error::SimResult;
use super::super::world::World;
use super::call::{Call, Reply};

pub(crate) fn rerun(world: &mut World, call: &Call) -> SimResult<Reply> {
    world.rerun_failed(&call.ctx(), call.number(2)?)?;
    Ok(Reply::new(201, json!({})))
}

/// Answers where the log lies: `localhost` is another host than the API's `127.0.0.1`.
pub(crate) fn log(world: &World, call: &Call) -> SimResult<Reply> {
    let job = call.number(2)?;
    world.job_log(&call.ctx(), job)?;
    let place = world.web().replace("127.0.0.1", "localhost");
    let mut reply = Reply::new(302, json!({}));
    let to = format!("{place}/_logs/{}/{job}?sig=secret", call.key);
    reply.headers.push(("location", to));
    Ok(reply)
}
