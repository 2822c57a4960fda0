//! A run's log: one file with a cap. Beyond the cap the middle is left out, and the log says so: the
//! head tells what was started, the tail tells what went wrong. No secret gets into it: see `scrub`.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::scrub::Scrubber;
use crate::model::agent_stream::{Channel, StreamReader};
use crate::model::comment::strip_ansi;
use crate::model::secrets::Secrets;

/// The file and what is in it.
pub(super) struct CappedLog {
    file: File,
    size: u64,
    cap: u64,
    /// Bytes left out so far.
    cut: u64,
    /// Where the head ends; set at the first cut.
    head: u64,
}

impl CappedLog {
    /// Opens the log at its end.
    pub(super) fn open(path: &Path, cap: u64) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        let size = file.seek(SeekFrom::End(0))?;
        Ok(Self {
            file,
            size,
            cap,
            cut: 0,
            head: 0,
        })
    }

    /// Appends.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.size += bytes.len() as u64;
        if self.size > self.cap {
            self.compact()
        } else {
            Ok(())
        }
    }

    /// Keeps a quarter of the cap at each end. So each byte is copied less than once on average, and
    /// one file holds everything there is at any time.
    fn compact(&mut self) -> io::Result<()> {
        let keep = self.cap / 4;
        if self.cut == 0 {
            self.head = keep;
        }
        let mut tail = vec![0; usize::try_from(keep).unwrap_or(usize::MAX)];
        self.file.seek(SeekFrom::Start(self.size - keep))?;
        self.file.read_exact(&mut tail)?;
        self.cut += self.size - keep - self.head;
        let note = format!("\n── about {} bytes left out here ──\n", self.cut);
        self.file.seek(SeekFrom::Start(self.head))?;
        self.file.write_all(note.as_bytes())?;
        self.file.write_all(&tail)?;
        self.size = self.head + note.len() as u64 + keep;
        // Cut last: a reader of the tail sees the old end until then.
        self.file.set_len(self.size)
    }
}

/// How far the output of one command has come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub bytes: AtomicU64,
    /// Pipes that somebody still holds.
    pub open: AtomicUsize,
}

/// Who reads along.
pub(super) type Listener = Arc<Mutex<StreamReader>>;

/// One pipe of a command.
pub(super) struct Output {
    pub pipe: PipeReader,
    pub listener: Option<(Channel, Listener)>,
}

/// A log that threads share.
pub(super) type SharedLog = Arc<Mutex<CappedLog>>;

/// Appends under the lock; a log that cannot be written must not end a run that works.
pub(super) fn append(log: &SharedLog, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = log.append(bytes) {
        tracing::warn!("cannot write the run's log: {error}");
    }
}

/// Copies a command's output into the log in a thread of its own, until everybody has closed the
/// pipe. The thread may outlive the command: whoever still holds the pipe is the caller's business.
pub(super) fn follow(
    output: Output,
    (log, secrets): (SharedLog, Arc<Secrets>),
    progress: &Arc<Progress>,
) -> io::Result<()> {
    let seen = Arc::clone(progress);
    seen.open.fetch_add(1, Ordering::AcqRel);
    thread::Builder::new()
        .name("output".to_owned())
        .spawn(move || {
            let mut scrubber = Scrubber::new(secrets);
            copy(output, (&log, &mut scrubber), &seen);
            append(&log, &scrubber.finish());
            seen.open.fetch_sub(1, Ordering::AcqRel);
        })?;
    Ok(())
}

/// Listeners hear what was printed, the log what may be kept.
fn copy(mut output: Output, (log, scrubber): (&SharedLog, &mut Scrubber), seen: &Progress) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match output.pipe.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => {
                append(log, &scrubber.pass(&buffer[..n]));
                if let Some((channel, listener)) = &output.listener {
                    let mut listener = listener.lock().unwrap_or_else(PoisonError::into_inner);
                    listener.feed(*channel, &buffer[..n]);
                }
                // Last: who sees the bytes finds what they say.
                seen.bytes.fetch_add(n as u64, Ordering::Release);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::warn!("cannot read the run's output: {error}");
                return;
            }
        }
    }
}

/// The last `bytes_max` bytes of a log without terminal codes.
pub(super) fn tail(path: &Path, bytes_max: usize) -> io::Result<String> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(error),
    };
    let size = file.metadata()?.len();
    let from = size.saturating_sub(bytes_max as u64);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(bytes_max as u64).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    // The first line is cut somewhere, maybe inside a character or a terminal code.
    let whole = if from > 0 {
        text.split_once('\n').map_or(&*text, |(_, rest)| rest)
    } else {
        &text
    };
    // A carriage return alone rewinds the line: as a new line, progress bars stay readable.
    Ok(strip_ansi(whole).replace("\r\n", "\n").replace('\r', "\n"))
}

#[cfg(test)]
mod tests;
