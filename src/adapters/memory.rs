//! Derived data in JSON files under `<home>/cache/`. Anybody may delete the folder at any time; no
//! failure here is ever more than a warning.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::StatVfsMountFlags;

use crate::model::limits::HOME_FREE_BYTES_MIN;
use crate::ports::memory::Memory;

use super::files;

/// One file a name.
#[derive(Debug, Clone)]
pub struct FileMemory {
    folder: PathBuf,
    /// What could not be written; newer than the files.
    unsaved: Arc<Mutex<BTreeMap<String, String>>>,
}

impl FileMemory {
    /// Keeps its files in `<home>/cache`, which is made when something is stored.
    pub fn new(home: &Path) -> Self {
        Self {
            folder: home.join("cache"),
            unsaved: Arc::default(),
        }
    }

    fn unsaved(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.unsaved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, name: &str) -> PathBuf {
        let mut path = self.folder.join(files::file_name(name)).into_os_string();
        path.push(".json");
        PathBuf::from(path)
    }
}

impl Memory for FileMemory {
    fn load(&self, name: &str) -> Option<String> {
        if let Some(text) = self.unsaved().get(name) {
            return Some(text.clone());
        }
        let path = self.path(name);
        files::read_if_there(&path).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "cannot read a cached file");
            None
        })
    }

    fn save(&self, name: &str, text: &str) {
        let path = self.path(name);
        let saved =
            files::make_folder(&self.folder).and_then(|()| files::replace(&path, text.as_bytes()));
        let mut unsaved = self.unsaved();
        if let Err(error) = saved {
            // Once: it is tried again all the time.
            if unsaved.insert(name.to_owned(), text.to_owned()).is_none() {
                tracing::warn!(path = %path.display(), %error, "cannot write a cached file");
            }
        } else {
            unsaved.remove(name);
        }
    }

    fn unwritable(&self) -> Option<String> {
        let place = self.folder.ancestors().find(|path| path.is_dir())?;
        // What cannot be asked proves nothing; the writes will tell.
        let facts = rustix::fs::statvfs(place).ok()?;
        let free = facts.f_bavail.saturating_mul(facts.f_frsize);
        unusable(
            place,
            free,
            facts.f_flag.contains(StatVfsMountFlags::RDONLY),
        )
    }
}

fn unusable(place: &Path, free: u64, read_only: bool) -> Option<String> {
    let place = place.display();
    if read_only {
        return Some(format!("the file system of `{place}` cannot be written"));
    }
    (free < HOME_FREE_BYTES_MIN).then(|| {
        let free = free >> 10;
        format!("the disk of `{place}` is full ({free} KiB free): make room there")
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_was_saved_is_loaded_under_any_name() {
        let home = tempfile::tempdir().unwrap();
        let memory = FileMemory::new(home.path());
        for name in ["cursor", "repo/1", "../escape", ".", "é"] {
            memory.save(name, &format!("\"{name}\""));
        }
        for name in ["cursor", "repo/1", "../escape", ".", "é"] {
            assert_eq!(memory.load(name), Some(format!("\"{name}\"")));
        }
        assert_eq!(
            fs::read_dir(home.path()).unwrap().count(),
            1,
            "nothing left the cache folder"
        );
    }

    #[test]
    fn an_unreadable_or_missing_file_is_nothing_and_a_failed_write_is_survived() {
        let home = tempfile::tempdir().unwrap();
        let memory = FileMemory::new(home.path());
        assert_eq!(memory.load("cursor"), None);
        fs::create_dir_all(memory.path("cursor")).unwrap();
        assert_eq!(memory.load("cursor"), None);
        memory.save("cursor", "1");
        let nowhere = FileMemory::new(Path::new("/proc/none"));
        nowhere.save("cursor", "1");
    }

    #[test]
    fn what_cannot_be_written_is_still_known_to_this_process() {
        let home = tempfile::tempdir().unwrap();
        let memory = FileMemory::new(home.path());
        memory.save("trouble", "1");
        // No file can take the place of a folder that is not empty.
        let path = memory.path("trouble");
        fs::remove_file(&path).unwrap();
        fs::create_dir_all(path.join("in-the-way")).unwrap();
        memory.save("trouble", "2");
        assert_eq!(memory.load("trouble").as_deref(), Some("2"));
        fs::remove_dir_all(&path).unwrap();
        memory.save("trouble", "3");
        assert_eq!(memory.load("trouble").as_deref(), Some("3"));
        assert!(path.is_file() && memory.unsaved().is_empty());
    }

    #[test]
    fn a_home_without_room_is_told_with_what_to_do() {
        let place = Path::new("/home/somebody");
        let full = unusable(place, 12 * 1024, false).unwrap();
        assert!(
            full.contains("12 KiB free") && full.contains("make room"),
            "{full}"
        );
        assert!(
            unusable(place, 1 << 30, true)
                .unwrap()
                .contains("cannot be written")
        );
        assert_eq!(unusable(place, HOME_FREE_BYTES_MIN, false), None);
    }
}
