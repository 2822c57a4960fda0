//! Where our blocks and the people's verify block stand in a body. It must not look into them.

use std::ops::Range;

use super::markdown::{self, Reading, is_line_start};

/// Re-readings of one body, one for each closed block: what stands in a block must not change how the
/// text behind it reads (`-->` in a command would end the HTML comment). Nobody writes that many, and
/// without a limit it would be quadratic.
const REREADS_MAX: usize = 16;

/// The three blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Ours, invisible.
    State,
    /// The people's, invisible.
    Verify,
    /// Ours, visible.
    PrLink,
}

impl Kind {
    const ALL: [Self; 3] = [Self::State, Self::Verify, Self::PrLink];

    /// What the first line begins with, up to the end of the marker's word.
    pub(super) fn start(self) -> &'static str {
        match self {
            Self::State => "<!-- GHSWARM_STATE_START",
            Self::Verify => "<!-- GHSWARM_VERIFY_START",
            Self::PrLink => "<!-- GHSWARM_PR_LINK_START",
        }
    }

    /// What the last line begins with.
    pub(super) fn end(self) -> &'static str {
        match self {
            Self::State => "GHSWARM_STATE_END",
            Self::Verify => "GHSWARM_VERIFY_END",
            Self::PrLink => "<!-- GHSWARM_PR_LINK_END",
        }
    }
}

/// A block as it stands in the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) kind: Kind,
    /// From the `<` of the first marker to behind the `-->` of the last; of an unclosed block only
    /// the first marker.
    pub(super) span: Range<usize>,
    /// Between the markers; `None` if the block is never closed.
    pub(super) content: Option<Range<usize>>,
}

/// The blocks of a body, and what Markdown makes of the rest of it.
pub(super) struct Layout {
    pub(super) blocks: Vec<Block>,
    pub(super) reading: Reading,
}

impl Layout {
    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(move |block| block.kind == kind)
    }
}

/// Finds the blocks. Linear in the length of the body.
pub(super) fn find(body: &str) -> Layout {
    let ends = Kind::ALL.map(|kind| block_ends(body, kind));
    let mut masked: Option<String> = None;
    let mut masked_blocks: Vec<Block> = Vec::new();
    loop {
        let text = masked.as_deref().unwrap_or(body);
        let reading = markdown::read(text);
        let may_mask = masked_blocks.len() < REREADS_MAX;
        let (mut blocks, closed) = pick(body, &reading, &ends, may_mask);
        let Some(block) = closed else {
            blocks.append(&mut masked_blocks);
            blocks.sort_by_key(|block| block.span.start);
            let inside = |at: usize| {
                let before = blocks.partition_point(|block| block.span.start <= at);
                before > 0 && blocks[before - 1].span.end > at
            };
            let mut reading = reading;
            reading.tasks.retain(|task| !inside(task.box_at));
            return Layout { blocks, reading };
        };
        masked = Some(mask(text, &block.span));
        masked_blocks.push(block);
    }
}

/// Goes through the comments in order. The second value is the first closed block, which is to be masked
/// before the text behind it is read.
fn pick(
    body: &str,
    reading: &Reading,
    ends: &[Vec<Range<usize>>; 3],
    may_mask: bool,
) -> (Vec<Block>, Option<Block>) {
    let mut blocks: Vec<Block> = Vec::new();
    for &start in &reading.comments {
        if blocks.last().is_some_and(|block| block.span.end > start) {
            continue;
        }
        let Some((index, kind)) = kind_at(body, start) else {
            continue;
        };
        let content_from = start + kind.start().len();
        let next_end = ends[index].partition_point(|end| end.start < content_from);
        let end = ends[index].get(next_end);
        if kind == Kind::PrLink {
            blocks.extend(end.and_then(|end| pr_link(body, start, end)));
            continue;
        }
        let Some(end) = end else {
            blocks.push(Block {
                kind,
                span: start..content_from,
                content: None,
            });
            continue;
        };
        let block = Block {
            kind,
            span: start..end.end,
            content: Some(content_from..end.start),
        };
        if may_mask {
            return (blocks, Some(block));
        }
        blocks.push(block);
    }
    (blocks, None)
}

fn kind_at(body: &str, at: usize) -> Option<(usize, Kind)> {
    let rest = &body[at..];
    Kind::ALL.into_iter().enumerate().find(|(_, kind)| {
        rest.strip_prefix(kind.start())
            .is_some_and(|tail| !tail.starts_with(is_word))
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The PR link block is visible, so it is ours only in exactly the shape we write: anything more
/// between the markers would be a person's text, which must be neither lost nor overlooked.
fn pr_link(body: &str, start: usize, end: &Range<usize>) -> Option<Block> {
    let from = start + Kind::PrLink.start().len();
    let inner = body[from..end.start].trim_start().strip_prefix("-->")?;
    let line = inner.trim();
    let url = line.strip_prefix("PR:")?.trim();
    let one_word = !url.contains(|c: char| c.is_whitespace() || c.is_control());
    let content = Some(from..end.start);
    one_word.then_some(Block {
        kind: Kind::PrLink,
        span: start..end.end,
        content,
    })
}

/// Every closing line of this kind: from its start to behind its `-->`.
fn block_ends(body: &str, kind: Kind) -> Vec<Range<usize>> {
    let mut ends = Vec::new();
    for (at, word) in body.match_indices(kind.end()) {
        if !is_line_start(body, at) {
            continue;
        }
        let tail = &body[at + word.len()..];
        let gap = tail.len() - tail.trim_start_matches([' ', '\t']).len();
        if tail[gap..].starts_with("-->") {
            ends.push(at..at + word.len() + gap + 3);
        }
    }
    ends
}

/// The same text with blanks for one part: line ends stay, so every offset stays.
fn mask(text: &str, span: &Range<usize>) -> String {
    let blank = |byte: u8| {
        if matches!(byte, b'\n' | b'\r') {
            char::from(byte)
        } else {
            ' '
        }
    };
    let middle = text.as_bytes()[span.clone()]
        .iter()
        .map(|byte| blank(*byte));
    let mut masked = String::with_capacity(text.len());
    masked.push_str(&text[..span.start]);
    masked.extend(middle);
    masked.push_str(&text[span.end..]);
    masked
}
