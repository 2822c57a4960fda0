//! Whose turn it is, by labels.

use super::given::policy;

#[test]
fn an_issue_without_a_priority_stands_in_the_middle() {
    let rank = |priorities: &[&str], labels: &[&str]| {
        let mut policy = policy();
        policy.priorities = priorities.iter().map(ToString::to_string).collect();
        policy.rank(&labels.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let three = ["high", "medium", "low"];
    assert!(rank(&three, &["HIGH"]) < rank(&three, &[]));
    assert_eq!(rank(&three, &["medium"]), rank(&three, &["bug"]));
    assert!(rank(&three, &["low"]) > rank(&three, &[]));
    assert!(rank(&three, &["low", "high"]) < rank(&three, &["medium"]));
    assert!(rank(&["now", "later"], &["now"]) < rank(&["now", "later"], &[]));
    assert!(rank(&["now", "later"], &["later"]) > rank(&["now", "later"], &[]));
    assert!(rank(&["now"], &["now"]) < rank(&["now"], &[]));
    assert_eq!(rank(&[], &["high"]), rank(&[], &[]));
}
