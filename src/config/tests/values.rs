//! x
use super::{LEAST, read, good};
#[test]
fn scratch() {
    println!("{:#?}", good(""));
    for shown in crate::config::show(&read(LEAST).unwrap()) { println!("{} = {}   ({})", shown.key, shown.value, shown.provenance()); }
}
