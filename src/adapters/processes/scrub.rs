//! Takes secrets out of a run's output on its way into the log. Output comes in pieces, and a secret may
//! be split over two of them: what may go on in the next piece is kept back, up to a limit.

use std::ops::Range;
use std::sync::Arc;

use crate::model::limits::{LOG_HELD_BYTES_MAX, LOG_OVERLAP_BYTES};
use crate::model::secrets::Secrets;

/// The output of one command.
pub(super) struct Scrubber {
    secrets: Arc<Secrets>,
    held: Vec<u8>,
}

impl Scrubber {
    pub(super) fn new(secrets: Arc<Secrets>) -> Self {
        let held = Vec::new();
        Self { secrets, held }
    }

    /// What may be written now that this came, too.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let (cut, spans) = self.cut();
        let rest = self.held.split_off(cut);
        let whole = std::mem::replace(&mut self.held, rest);
        Secrets::without(&whole, &spans)
    }

    /// What is left when nothing more comes.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        self.secrets.redact_bytes(&std::mem::take(&mut self.held))
    }

    /// The place up to which everything is known, and the secrets before it. It is the end of a line, unless a secret
    /// goes on beyond it.
    fn cut(&self) -> (usize, Vec<Range<usize>>) {
        let held = self.held.as_slice();
        let ends_line = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let line = held.iter().rposition(ends_line).map_or(0, |at| at + 1);
        // A program may print no line's end at all.
        let cut = if held.len() - line > LOG_HELD_BYTES_MAX {
            held.len() - LOG_OVERLAP_BYTES
        } else {
            line
        };
        if cut == 0 {
            return (0, Vec::new());
        }
        let cut = self.value_begins(cut);
        let mut spans = self.secrets.spans(held);
        let open =
            |span: &&Range<usize>| span.start < cut && (span.end > cut || span.end == held.len());
        let cut = match spans.iter().find(open) {
            Some(span) if held.len() - span.start > LOG_HELD_BYTES_MAX => span.end,
            Some(span) => span.start,
            None => cut,
        };
        // None of them goes on beyond the cut, so what was found is what the part before it holds.
        spans.retain(|span| span.end <= cut);
        (cut, spans)
    }

    /// Where a value with several lines may have begun before the cut, without being whole yet.
    fn value_begins(&self, cut: usize) -> usize {
        let held = self.held.as_slice();
        let begins = self.secrets.values().filter_map(|value| {
            let value = value.as_bytes();
            let first = (held.len() + 1).saturating_sub(value.len());
            (first..cut).find(|at| value.starts_with(&held[*at..]))
        });
        begins.min().unwrap_or(cut).min(cut)
    }
}

#[cfg(test)]
mod tests;
