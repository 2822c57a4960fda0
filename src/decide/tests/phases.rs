//! One table a phase.

use super::check;
use super::given::*;

#[test]
fn a_fresh_issue_is_claimed() {
    check(&snapshot(), "claim: free");
}
