//! What a verb says: words on standard output and standard error, or one JSON object, and the exit status.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::super::error::CommandError;
use super::super::output;
use crate::decide::leases::{Holder, Reap, Standing};
use crate::engine::leases::{Reaped, Won};
use crate::model::comment::{head, one_line};
use crate::model::ids::IssueNumber;

/// So much of another's name is shown.
const NAME_MAX: usize = 200;

/// Said where there is no identity.
pub const NO_IDENTITY: &str = "It names who holds a lease: give each agent its own, as in \
                               `export AGENT_ID=codex-7`; its children inherit it";

/// An answer that is being put together.
pub struct Said {
    out: Vec<String>,
    err: Vec<String>,
    json: Map<String, Value>,
    exit: u8,
}

impl Said {
    pub fn new(verb: &str) -> Self {
        let mut json = Map::new();
        json.insert("verb".to_owned(), json!(verb));
        Self {
            out: Vec::new(),
            err: Vec::new(),
            json,
            exit: 0,
        }
    }

    /// A line of data.
    pub fn line(mut self, line: &str) -> Self {
        self.out.push(one_line(line));
        self
    }

    /// A line for people.
    pub fn note(mut self, line: &str) -> Self {
        self.err.push(one_line(line));
        self
    }

    /// The same for what is not as it should be.
    pub fn warn(self, line: &str) -> Self {
        self.note(&format!("warning: {line}"))
    }

    pub fn exit(mut self, status: u8) -> Self {
        self.exit = status;
        self
    }

    /// A field of the JSON object.
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.json.insert(name.to_owned(), value.into());
        self
    }

    pub fn outcome(self, outcome: &str, issue: IssueNumber) -> Self {
        self.field("outcome", outcome).field("issue", issue.0)
    }

    pub fn leases(self, leases: Vec<Value>) -> Self {
        self.field("leases", leases)
    }

    /// How it was won; a steal is never silent.
    pub fn won(self, won: &Won) -> Self {
        match won {
            Won::Fresh(Some(from)) => {
                let since = from.since.format("%Y-%m-%d %H:%M UTC");
                self.field("stolen_from", json!(from)).note(&format!(
                    "taken over from {}, who stamped it last at {since}: its time was over",
                    short(&from.holder)
                ))
            }
            Won::Fresh(None) | Won::Already | Won::Again => self,
        }
    }

    pub fn held(self, holder: &Holder) -> Self {
        self.note(&format!("held by {}", name_of(holder)))
            .note(&format!("  {}", particulars(holder)))
            .field("holder", holder_json(holder))
    }

    pub fn theirs(self, issue: IssueNumber, holder: &Holder) -> Self {
        self.field("holder", holder_json(holder)).warn(&format!(
            "#{issue} is held by {}, not by you ({})",
            name_of(holder),
            particulars(holder)
        ))
    }

    pub fn print(self, as_json: bool) -> Result<ExitCode, CommandError> {
        if as_json {
            output::json(&self.json)?;
        } else {
            self.out.iter().for_each(|line| output::data(line));
        }
        self.err.iter().for_each(|line| output::say(line));
        Ok(ExitCode::from(self.exit))
    }
}

/// The holder for a line; what others wrote into their leases is theirs, and may be long.
pub fn name_of(holder: &Holder) -> String {
    short(holder.name())
}

fn short(text: &str) -> String {
    let text = one_line(text);
    match head(&text, NAME_MAX) {
        all if all.len() == text.len() => text,
        cut => format!("{cut}…"),
    }
}

fn particulars(holder: &Holder) -> String {
    let time = "%Y-%m-%d %H:%M UTC";
    let by = match holder.by.as_deref() {
        Some("loop") => "ghswarm's loop, ",
        Some(_) | None => "",
    };
    let host = holder
        .host
        .as_ref()
        .map(|host| format!("on {}, ", short(host)));
    format!(
        "{by}{}since {}, until {}",
        host.unwrap_or_default(),
        holder.since.format(time),
        holder.expires.format(time)
    )
}

fn holder_json(holder: &Holder) -> Value {
    json!({ "owner": holder.owner, "by": holder.by, "host": holder.host, "since": holder.since,
        "expires": holder.expires })
}

/// `#412  12m old  ttl 240m`
pub fn line_of_mine(issue: IssueNumber, stands: &Standing) -> String {
    format!("#{issue}  {}", age_of(stands))
}

/// The same with its holder.
pub fn line_of_status(issue: IssueNumber, stands: &Standing) -> String {
    let by = match stands.holder.by.as_deref() {
        Some("loop") => "  (loop)",
        Some(_) | None => "",
    };
    let owner = name_of(&stands.holder);
    format!("#{issue}  {owner:<24}  {}{by}", age_of(stands))
}

fn age_of(stands: &Standing) -> String {
    let ttl = match stands.ttl_min {
        Some(minutes) => format!("ttl {minutes}m"),
        None => "no ttl".to_owned(),
    };
    let expired = if stands.expired { "  (expired)" } else { "" };
    // To the nearest minute.
    let age = (stands.age.num_seconds() + 30) / 60;
    format!("{age}m old  {ttl}{expired}")
}

/// The JSON of a lease.
pub fn lease((issue, stands): (&IssueNumber, &Standing)) -> Value {
    json!({ "issue": issue, "owner": stands.holder.owner, "by": stands.holder.by, "host": stands.holder.host,
        "since": stands.holder.since, "age_secs": stands.age.num_seconds(), "ttl_min": stands.ttl_min,
        "expires": stands.holder.expires, "expired": stands.expired })
}

pub fn line_of_reaped(one: &Reaped) -> String {
    let whose = short(one.owner.as_deref().unwrap_or("nobody"));
    format!("reaped #{} ({}, {whose})", one.issue, why(one.why))
}

/// The JSON of a reaped lease.
pub fn reaped(one: &Reaped) -> Value {
    json!({ "issue": one.issue, "owner": one.owner, "why": why(one.why) })
}

fn why(why: Reap) -> &'static str {
    match why {
        Reap::Expired => "expired",
        Reap::Closed => "issue closed",
    }
}
