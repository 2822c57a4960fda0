//! Codex's `notify` program, one line of its configuration. Codex has room for one: another's stays.

use std::path::Path;

use super::super::error::{CommandError, Kind};
use super::{Wish, read, write};

pub(super) fn apply(home: &Path, program: &str, wish: Wish) -> Result<Vec<String>, CommandError> {
    let path = home.join("config.toml");
    let shown = path.display();
    let text = read(&path)?.unwrap_or_default();
    let found = text
        .lines()
        .take_while(|line| !line.trim_start().starts_with('['))
        .find(|line| is_notify(line));
    match (wish, found) {
        (Wish::There, Some(line)) if is_ours(line) => Ok(vec![format!("{shown}: there already")]),
        (Wish::There, Some(line)) => {
            let what = format!("`{shown}` has a notify program: {}", line.trim());
            Err(CommandError::new(Kind::Outside, what)
                .hint("Codex has room for one; let that one call: ghswarm lease codex-hook EVENT"))
        }
        (Wish::There, None) => {
            let program = serde_json::Value::from(program);
            // Keys of the top level stand before every table.
            write(
                &path,
                &format!("notify = [{program}, \"lease\", \"codex-hook\"]\n{text}"),
            )?;
            Ok(vec![format!("{shown}: added: notify")])
        }
        (Wish::Gone, Some(line)) if is_ours(line) => {
            let rest = without(&text, line);
            if rest.is_empty() {
                std::fs::remove_file(&path)
                    .map_err(|error| super::failed("remove", &path, error))?;
                return Ok(vec![format!(
                    "{shown}: removed, since nothing else was in it"
                )]);
            }
            write(&path, &rest)?;
            Ok(vec![format!("{shown}: taken out: notify")])
        }
        (Wish::Gone, Some(_) | None) => Ok(vec![format!("{shown}: nothing of ghswarm's")]),
    }
}

/// The text without this line and its end, whichever that is; a last line may have none.
fn without(text: &str, line: &str) -> String {
    let bare = |one: &str| {
        let one = one.strip_suffix('\n').unwrap_or(one);
        one.strip_suffix('\r').unwrap_or(one) == line
    };
    let mut gone = false;
    let stays = |one: &&str| {
        let goes = !gone && bare(one);
        gone |= goes;
        !goes
    };
    text.split_inclusive('\n').filter(stays).collect()
}

fn is_notify(line: &str) -> bool {
    let name = line.split('=').next().unwrap_or_default().trim();
    line.contains('=') && name.trim_matches(['"', '\'']) == "notify"
}

fn is_ours(line: &str) -> bool {
    line.contains("ghswarm") && line.contains("\"codex-hook\"")
}
