//! What Markdown makes of a text: which parts are code, quotes or folded away, where tasks and HTML
//! comments are. It must not know what any of our blocks is called.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A task list item outside code, quotes and folded parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskSpan {
    /// The text of the item without its box: the first paragraph only, nested lists left out.
    pub(crate) text: Range<usize>,
    /// Is the box ticked?
    pub(crate) done: bool,
    /// Byte offset of the character between the brackets.
    pub(crate) box_at: usize,
}

/// What Markdown makes of a text. All ranges are bytes of that text.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// In the order of the text.
    pub(crate) tasks: Vec<TaskSpan>,
    /// Where HTML comments open at the start of a line, outside code, quotes and folded parts.
    pub(crate) comments: Vec<usize>,
    /// Code, quotes, HTML and folded parts: disjoint, in the order of the text.
    hidden: Vec<Range<usize>>,
    /// Code and quotes alone, likewise.
    quoted: Vec<Range<usize>>,
}

impl Reading {
    /// Is this byte in code, in a quote, in HTML or folded away?
    pub(crate) fn is_hidden(&self, at: usize) -> bool {
        holds(&self.hidden, at)
    }

    /// Is this byte in code or in a quote?
    pub(crate) fn is_quoted(&self, at: usize) -> bool {
        holds(&self.quoted, at)
    }
}

fn holds(ranges: &[Range<usize>], at: usize) -> bool {
    let after = ranges.partition_point(|range| range.start <= at);
    after > 0 && ranges[after - 1].end > at
}

/// Reads a text as GitHub does, as far as it matters here. Linear in the length of the text.
pub(crate) fn read(text: &str) -> Reading {
    let options = Options::ENABLE_TASKLISTS
        | Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES;
    let mut walk = Walk {
        text,
        ..Walk::default()
    };
    for (event, span) in Parser::new_ext(text, options).into_offset_iter() {
        walk.step(&event, span);
    }
    walk.finish()
}

/// The walk over the events.
#[derive(Default)]
struct Walk<'a> {
    text: &'a str,
    found: Reading,
    /// How many `<details>` (or `<pre>`) are open here, and since where.
    folded: usize,
    folded_from: usize,
    /// `folded` at the opening of each list, item and quote: what is opened in a container ends with it.
    containers: Vec<usize>,
    quotes: usize,
    /// Does the last task's text still go on?
    in_task: bool,
}

impl Walk<'_> {
    fn step(&mut self, event: &Event<'_>, span: Range<usize>) {
        match event {
            Event::Start(tag) => self.open(tag, span),
            Event::End(tag) => self.close(*tag, span.end),
            Event::TaskListMarker(done) => self.task(*done, &span),
            Event::Code(_) => {
                self.extend_task(span.end);
                self.found.quoted.push(span);
            }
            Event::InlineHtml(_) => {
                self.extend_task(span.end);
                self.scan_tags(span);
            }
            Event::Text(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak => self.extend_task(span.end),
            Event::Html(_) | Event::Rule => {}
        }
    }

    fn open(&mut self, tag: &Tag<'_>, span: Range<usize>) {
        if matches!(
            tag,
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }
        ) {
            self.extend_task(span.end);
            return;
        }
        self.in_task = false;
        if matches!(tag, Tag::List(_) | Tag::Item | Tag::BlockQuote(_)) {
            self.containers.push(self.folded);
        }
        if matches!(tag, Tag::BlockQuote(_)) {
            self.quotes += 1;
        }
        if matches!(tag, Tag::HtmlBlock) {
            self.scan_tags(span.clone());
        }
        if matches!(tag, Tag::HtmlBlock) {
            self.found.hidden.push(span);
        } else if matches!(tag, Tag::CodeBlock(_) | Tag::BlockQuote(_)) {
            self.found.quoted.push(span);
        }
    }

    fn close(&mut self, tag: TagEnd, at: usize) {
        if matches!(tag, TagEnd::List(_) | TagEnd::Item | TagEnd::BlockQuote(_)) {
            let outside = self.containers.pop().unwrap_or_default();
            while self.folded > outside {
                self.unfold(at);
            }
        }
        if matches!(tag, TagEnd::BlockQuote(_)) {
            self.quotes = self.quotes.saturating_sub(1);
        }
        if matches!(tag, TagEnd::Item | TagEnd::Paragraph) {
            self.in_task = false;
        }
    }

    fn task(&mut self, done: bool, span: &Range<usize>) {
        let bracket = self.text[span.clone()].rfind('[');
        let Some(bracket) = bracket.filter(|_| self.folded == 0 && self.quotes == 0) else {
            return;
        };
        let box_at = span.start + bracket + 1;
        self.found.tasks.push(TaskSpan {
            text: span.end..span.end,
            done,
            box_at,
        });
        self.in_task = true;
    }

    fn extend_task(&mut self, end: usize) {
        if let Some(task) = self.found.tasks.last_mut().filter(|_| self.in_task) {
            task.text.end = task.text.end.max(end);
        }
    }

    /// Looks through a piece of HTML for comments and for what folds text away.
    fn scan_tags(&mut self, piece: Range<usize>) {
        let mut at = piece.start;
        while let Some(next) = self.text[at..piece.end].find('<') {
            at += next;
            let rest = &self.text[at..piece.end];
            if rest.starts_with("<!--") {
                // As HTML has it, `<!-->` and `<!--->` are whole comments.
                let end = rest.get(2..).and_then(|tail| tail.find("-->"));
                let end = end.map_or(piece.end, |end| at + 2 + end + 3);
                if self.folded == 0 && self.quotes == 0 && is_line_start(self.text, at) {
                    self.found.comments.push(at);
                }
                at = end;
                continue;
            }
            if opens(rest, "details") || opens(rest, "pre") {
                self.fold(at);
            } else if rest.starts_with("</")
                && (names(&rest[2..], "details") || names(&rest[2..], "pre"))
            {
                self.unfold(at);
            }
            at += 1;
        }
    }

    fn fold(&mut self, at: usize) {
        if self.folded == 0 {
            self.folded_from = at;
        }
        self.folded += 1;
    }

    fn unfold(&mut self, at: usize) {
        if self.folded == 1 {
            self.found.hidden.push(self.folded_from..at);
        }
        self.folded = self.folded.saturating_sub(1);
    }

    fn finish(mut self) -> Reading {
        if self.folded > 0 {
            // A browser closes at the end what nobody closed.
            self.found.hidden.push(self.folded_from..self.text.len());
        }
        self.found.hidden.extend(self.found.quoted.iter().cloned());
        let hidden = merged(self.found.hidden);
        Reading {
            hidden,
            quoted: merged(self.found.quoted),
            ..self.found
        }
    }
}

/// The same bytes as disjoint ranges in order.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

fn opens(html: &str, name: &str) -> bool {
    html.strip_prefix('<').is_some_and(|rest| names(rest, name))
}

/// Does the text begin with this tag name?
fn names(rest: &str, name: &str) -> bool {
    let head = rest.get(..name.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(name))
        && !rest[name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-')
}

/// Does a line begin at this byte?
pub(crate) fn is_line_start(text: &str, at: usize) -> bool {
    at == 0 || matches!(text.as_bytes()[at - 1], b'\n' | b'\r')
}

/// The lines of a text with the offset of each, line ends left off.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line.trim_end_matches(['\n', '\r']))
    })
}
