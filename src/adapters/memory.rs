//! Derived data in JSON files under `<home>/cache/`. Anybody may delete the folder at any time; no
//! failure here is ever more than a warning.

use std::path::{Path, PathBuf};

use crate::ports::memory::Memory;

use super::files;

/// One file a name.
#[derive(Debug, Clone)]
pub struct FileMemory {
    folder: PathBuf,
}

impl FileMemory {
    /// Keeps its files in `<home>/cache`, which is made when something is stored.
    pub fn new(home: &Path) -> Self {
        Self {
            folder: home.join("cache"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        let mut path = self.folder.join(files::file_name(name)).into_os_string();
        path.push(".json");
        PathBuf::from(path)
    }
}

impl Memory for FileMemory {
    fn load(&self, name: &str) -> Option<String> {
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
        if let Err(error) = saved {
            tracing::warn!(path = %path.display(), %error, "cannot write a cached file");
        }
    }
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
}
