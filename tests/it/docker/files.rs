//! Files of the worktree, seen from inside and outside.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::Home;

#[test]
fn files_written_in_the_container_belong_to_the_caller() {
    let Some(home) = Home::new() else { return };
    let (facts, exit) = home.run(&home.spec(&["mkdir made && echo hello > made/file"]));
    assert!(exit.success(), "{exit:?}\n{}", facts.tail);
    let file = home.tree().join("made/file");
    assert_eq!(fs::read_to_string(&file).unwrap(), "hello\n");
    let me = fs::metadata(home.dir.path()).unwrap();
    let meta = fs::metadata(&file).unwrap();
    assert_eq!((meta.uid(), meta.gid()), (me.uid(), me.gid()));
}
