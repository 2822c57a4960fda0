//! Does a process that waits for this one hold the lock that this one wants? Every holder notes its
//! locks in a variable of its command. A note alone proves nothing, since it outlives the holder in
//! what the command left behind; so the holder must also stand above us in the process table. There
//! it waits for its command, which is above us or us, and holds its lock as long.
//!
//! Only Linux tells a process's parents cheaply; elsewhere such a call waits, as it would without us.

use super::variable;

/// The locks that processes above hold: `PID:START:DEVICE:INODE`, one after the other.
pub(super) const HELD: &str = "GHSWARM_MUTEX_HELD";

/// One note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Note {
    pid: i32,
    /// When it started, in ticks since the boot: numbers of processes are given away again.
    start: u64,
    file: (u64, u64),
}

impl Note {
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split(':');
        let mut number = || fields.next()?.parse::<u64>().ok();
        Some(Self {
            pid: i32::try_from(number()?).ok()?,
            start: number()?,
            file: (number()?, number()?),
        })
    }
}

/// What the kernel says of a process (`/proc/PID/stat`, `proc_pid_stat(5)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub parent: i32,
    pub start: u64,
    /// Which signals it ignores, the lowest bit is signal 1.
    pub ignored: u64,
}

impl Stat {
    /// Of a process, or of this one.
    pub(super) fn of(pid: Option<i32>) -> Option<Self> {
        let pid = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name in parentheses may hold spaces and parentheses; field 3 is the first behind it.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3);
        Some(Self {
            parent: field(4)?.parse().ok()?,
            start: field(22)?.parse().ok()?,
            ignored: field(33)?.parse().ok()?,
        })
    }
}

/// The process above us that holds the lock on this file (device and inode), if we can be certain.
pub(super) fn holder_above(file: (u64, u64)) -> Option<i32> {
    let held = variable(HELD)?;
    holder_among(held.to_str()?, file, &Stat::of)
}

fn holder_among(
    held: &str,
    file: (u64, u64),
    stat_of: &dyn Fn(Option<i32>) -> Option<Stat>,
) -> Option<i32> {
    let notes: Vec<Note> = held
        .split_ascii_whitespace()
        .filter_map(Note::parse)
        .filter(|note| note.file == file)
        .collect();
    if notes.is_empty() {
        return None;
    }
    let mut stat = stat_of(None)?;
    // The table is not read in one moment; a chain of parents is never as long as this.
    for _ in 0..1_000_000 {
        let pid = stat.parent;
        stat = stat_of(Some(pid))?;
        if notes.iter().any(|n| n.pid == pid && n.start == stat.start) {
            return Some(pid);
        }
    }
    None
}

/// What the command of this process shall read in [`HELD`] while this process holds the lock on the
/// file; `None` where nobody could check it.
pub(super) fn noted(file: (u64, u64), own: Option<&Stat>) -> Option<String> {
    let pid = std::process::id();
    let note = format!("{pid}:{}:{}:{}", own?.start, file.0, file.1);
    let above = variable(HELD).and_then(|held| held.into_string().ok());
    Some(above.map_or_else(|| note.clone(), |above| format!("{above} {note}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 9 (this) under 7 under 5 under 1.
    fn table(pid: Option<i32>) -> Option<Stat> {
        let (parent, start) = match pid {
            None => (7, 90),
            Some(7) => (5, 70),
            Some(5) => (1, 50),
            Some(1) => (0, 1),
            Some(_) => return None,
        };
        Some(Stat {
            parent,
            start,
            ignored: 0,
        })
    }

    #[test]
    fn a_holder_above_is_found_by_number_start_and_file() {
        let holder = |held| holder_among(held, (3, 4), &table);
        assert_eq!(holder("5:50:3:4"), Some(5));
        assert_eq!(holder("8:80:1:1 7:70:3:4"), Some(7));
    }

    #[test]
    fn a_note_of_a_process_that_is_not_above_proves_nothing() {
        let holder = |held| holder_among(held, (3, 4), &table);
        assert_eq!(holder("8:80:3:4"), None, "not above");
        assert_eq!(holder("5:49:3:4"), None, "the number was given away again");
        assert_eq!(holder("5:50:3:5"), None, "another lock");
        assert_eq!(holder("5:50:3 x:y:z:w 5"), None, "no notes at all");
        assert_eq!(holder(""), None);
    }

    #[test]
    fn the_fields_are_counted_behind_the_name() {
        let rest: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
        let stat = Stat::parse(&format!("7 (a) b (c)) S {}", rest.join(" ")));
        let expected = Stat {
            parent: 4,
            start: 22,
            ignored: 33,
        };
        assert_eq!(stat, Some(expected));
        assert_eq!(Stat::parse("7 (a) S 1 2"), None);
    }
}
