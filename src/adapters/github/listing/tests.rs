//! Where the listing goes on.

use http::{HeaderMap, HeaderValue};

use super::next_cursor;
use crate::model::ids::Timestamp;
use crate::ports::github::ListCursor;

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("etag", HeaderValue::from_static("\"e\""));
    headers.insert(
        "date",
        HeaderValue::from_static("Mon, 30 Nov 2026 12:00:00 GMT"),
    );
    headers
}

#[test]
fn the_tag_counts_only_for_the_question_it_answered() {
    let noon = time("2026-11-30T12:00:00Z");
    let first = next_cursor(&ListCursor::default(), Some(noon), &headers(), 1).unwrap();
    assert_eq!(
        first,
        ListCursor {
            since: Some(noon),
            etag: None
        }
    );
    let second = next_cursor(&first, Some(noon), &headers(), 1).unwrap();
    assert_eq!(
        second,
        ListCursor {
            since: Some(noon),
            etag: Some("\"e\"".to_owned())
        }
    );
    let later = time("2026-11-30T13:00:00Z");
    let third = next_cursor(&second, Some(later), &headers(), 1).unwrap();
    assert_eq!(
        third,
        ListCursor {
            since: Some(later),
            etag: None
        }
    );
}

#[test]
fn the_tag_of_the_first_of_several_pages_does_not_count() {
    let noon = time("2026-11-30T12:00:00Z");
    let asked = ListCursor {
        since: Some(noon),
        etag: None,
    };
    assert_eq!(next_cursor(&asked, Some(noon), &headers(), 2), Some(asked));
}

#[test]
fn an_empty_repository_is_asked_the_same_question_again() {
    let first = next_cursor(&ListCursor::default(), None, &headers(), 1).unwrap();
    assert_eq!(first.since, Some(time("2026-11-30T11:59:50Z")));
    let second = next_cursor(&first, None, &headers(), 1).unwrap();
    assert_eq!(second.since, first.since);
    assert!(second.etag.is_some());
    assert_eq!(
        next_cursor(&ListCursor::default(), None, &HeaderMap::new(), 1),
        None
    );
}
