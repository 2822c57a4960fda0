//! The private git folder: where git talks to the remote from.
//!
//! An agent can write the clone's configuration, and git would obey it: another address, a proxy, an
//! ssh command, a credential helper. So what carries the user's token or login never reads it, and
//! what reads it never has the token:
//! - fetch, push and LFS transfers run with `GIT_DIR` in the home, whose configuration is written
//!   here, each time. The user's and the system's configuration stay in force.
//! - Its objects are the clone's (`GIT_OBJECT_DIRECTORY`): nothing is copied. What was fetched becomes
//!   a ref of the clone by `update-ref`, which talks to nobody.
//! - The address is the one that the clone had when this home first used it. See `address.rs`.
//!
//! The folder holds nothing that cannot be made again, apart from the known address beside it.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::adapters::files;
use crate::model::trust::text_hash;
use crate::ports::{PortError, PortResult, Refusal};

use super::address::{Addresses, Listing};
use super::command::{Call, Reach, RunError};
use super::{CliGit, local};

/// `<home>/git/<name>.json`: the address that a clone had at first. For people too.
#[derive(Debug, Serialize, Deserialize)]
struct Known {
    clone: PathBuf,
    #[serde(flatten)]
    addresses: Addresses,
}

/// An open way to the remote; only in our turn in the clone.
#[derive(Debug)]
pub(super) struct Door {
    /// The private git folder.
    pub(super) folder: PathBuf,
    objects: PathBuf,
    /// Where commits are cut off in a shallow clone: the clone's file, and its text when we opened.
    shallow: (PathBuf, Option<String>),
    /// Keys of the clone's configuration that somebody may miss.
    not_obeyed: Vec<String>,
}

const LIST: [&str; 5] = ["config", "--list", "--show-scope", "--show-origin", "-z"];

impl CliGit {
    /// Makes or mends the private folder, and proves that the clone still points where it did.
    pub(super) async fn door(&self, what: &str) -> PortResult<Door> {
        self.door_of(what, "").await
    }

    /// The same for lease refs: a folder of its own, in the turn of `refs_serial`.
    pub(super) async fn refs_door(&self, what: &str) -> PortResult<Door> {
        self.door_of(what, "-refs").await
    }

    async fn door_of(&self, what: &str, suffix: &str) -> PortResult<Door> {
        let common = self.common().await?;
        let failed = |e: io::Error| local(what, &e);
        let list = self.runner.good(&self.in_clone(LIST)).await;
        let listing = Listing::parse(&list.map_err(|e| local(what, &e))?.fields());
        let remote = &self.settings.remote;
        let clone = &self.settings.clone;
        let addresses = listing.addresses(remote, clone).ok_or_else(|| {
            let words = format!(
                "the clone has no remote `{remote}`: add it with `git -C {} remote add {remote} \
                 ADDRESS`",
                quoted(clone)
            );
            PortError::refused(what, Refusal::Local, words)
        })?;
        let name = format!("{}-{}", self.settings.repo, short_name(common));
        self.refuse_redirected(what, &name, &addresses)?;
        let shallow = common.join("shallow");
        let cut_off = files::read_if_there(&shallow).map_err(failed)?;
        let door = Door {
            folder: self.settings.private.join(name + suffix),
            objects: common.join("objects"),
            shallow: (shallow, cut_off),
            not_obeyed: listing
                .not_obeyed()
                .into_iter()
                .map(str::to_owned)
                .collect(),
        };
        door.lay_out().map_err(failed)?;
        let includes = self.conditional_files(what, &door, &listing).await?;
        let text = Configuration {
            addresses: &addresses,
            remote,
            listing: &listing,
            common,
            includes,
        };
        write_if_other(&door.folder.join("config"), text.render().as_bytes()).map_err(failed)?;
        Ok(door)
    }

    /// Compares the address with the one that was known first, and remembers the first.
    fn refuse_redirected(&self, what: &str, name: &str, now: &Addresses) -> PortResult<()> {
        let failed = |e: io::Error| local(what, &e);
        let private = &self.settings.private;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(private)
            .map_err(failed)?;
        let file = private.join(format!("{name}.json"));
        let now_known = Known {
            clone: self.settings.clone.clone(),
            addresses: now.places(),
        };
        let Some(text) = files::read_if_there(&file).map_err(failed)? else {
            let text = serde_json::to_vec_pretty(&now_known).map_err(|e| local(what, &e))?;
            return files::replace(&file, &text).map_err(failed);
        };
        let known: Result<Known, _> = serde_json::from_str(&text);
        let words = match known {
            Ok(known) if known.addresses == now_known.addresses => return Ok(()),
            Ok(known) => format!(
                "the remote `{}` of the clone `{}` points to {} now, and pointed to {} when ghswarm \
                 first used it; an agent may have changed that. See which line does it: `git -C {} \
                 config --list --show-origin`. If the new address is right, accept it: `rm {}`",
                self.settings.remote,
                self.settings.clone.display(),
                now.shown(),
                known.addresses.shown(),
                quoted(&self.settings.clone),
                quoted(&file),
            ),
            Err(error) => format!(
                "`{}` is damaged ({error}). It holds the address that the clone had first. If {} is \
                 right, have it written anew: `rm {}`",
                file.display(),
                now.shown(),
                quoted(&file),
            ),
        };
        Err(PortError::refused(what, Refusal::Local, words))
    }

    /// Files of the user that hold for the clone's place only (`includeIf "gitdir:~/work/"`), and so
    /// not for the private folder.
    async fn conditional_files(
        &self,
        what: &str,
        door: &Door,
        listing: &Listing,
    ) -> PortResult<Vec<PathBuf>> {
        if !listing.is_conditional() {
            return Ok(Vec::new());
        }
        let list = self.runner.good(&self.behind(door, LIST)).await;
        let here = Listing::parse(&list.map_err(|e| local(what, &e))?.fields());
        let here = here.files_of_user();
        let files = listing.files_of_user().into_iter();
        Ok(files
            .filter(|file| !here.contains(file))
            .map(Path::to_path_buf)
            .collect())
    }

    /// A command that talks to the remote, from the private folder: ssh must not ask.
    pub(super) async fn through<'a, const N: usize>(
        &self,
        door: &'a Door,
        args: [&str; N],
    ) -> PortResult<Call<'a>> {
        let call = self
            .call(&door.folder, args)
            .within(self.settings.network_timeout)
            .reaching(Reach::Remote);
        let call = door.inside(call);
        let ssh = self.ssh.get_or_try_init(|| self.find_ssh_command(door));
        Ok(match ssh.await? {
            Some(command) => call.env("GIT_SSH_COMMAND", command),
            None => call,
        })
    }

    /// Tells a new private folder what the clone has, or its first fetch would bring everything again.
    pub(super) async fn seed(&self, what: &str, door: &Door, tracking: &str) -> PortResult<()> {
        let seed = door.folder.join("refs/ghswarm/seed");
        if seed.exists() {
            return Ok(());
        }
        let clone = &self.settings.clone;
        let failed = |e: RunError| local(what, &e);
        let tip = match self.commit_of(clone, tracking).await.map_err(failed)? {
            Some(tip) => Some(tip),
            None => self.commit_of(clone, "HEAD").await.map_err(failed)?,
        };
        let Some(tip) = tip else { return Ok(()) };
        let failed = |e: io::Error| local(what, &e);
        fs::create_dir_all(door.folder.join("refs/ghswarm")).map_err(failed)?;
        files::replace(&seed, format!("{tip}\n").as_bytes()).map_err(failed)
    }

    /// A local command in the private folder.
    pub(super) fn behind<'a, const N: usize>(&self, door: &'a Door, args: [&str; N]) -> Call<'a> {
        door.inside(self.call(&door.folder, args))
    }
}

impl Door {
    fn inside<'a>(&'a self, call: Call<'a>) -> Call<'a> {
        call.env("GIT_DIR", self.folder.as_os_str())
            .env("GIT_OBJECT_DIRECTORY", self.objects.as_os_str())
    }

    /// What makes a folder a bare repository (`gitrepository-layout(5)`). Where one of these is
    /// something else, everything is made anew.
    fn lay_out(&self) -> io::Result<()> {
        let folders = ["objects", "refs"].map(|name| self.folder.join(name));
        let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|m| m.is_dir());
        if !is_folder(&self.folder) || !folders.iter().all(|path| is_folder(path)) {
            self.forget()?;
        }
        for path in &folders {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(path)?;
        }
        // A branch that is never made.
        write_if_other(&self.folder.join("HEAD"), b"ref: refs/heads/none\n")?;
        write_or_remove(&self.folder.join("shallow"), self.shallow.1.as_deref())
    }

    /// Throws the folder away: it is made again by the next command.
    pub(super) fn forget(&self) -> io::Result<()> {
        if fs::symlink_metadata(&self.folder).is_ok_and(|meta| meta.is_dir()) {
            return fs::remove_dir_all(&self.folder);
        }
        files::remove_if_there(&self.folder)
    }

    /// A fetch may move the places where a shallow clone is cut off. Where it did not, the clone's
    /// file is left alone: its user may just be completing it.
    pub(super) fn bring_back(&self) -> io::Result<()> {
        let (shallow, before) = &self.shallow;
        let now = files::read_if_there(&self.folder.join("shallow"))?;
        if now == *before {
            return Ok(());
        }
        write_or_remove(shallow, now.as_deref())
    }

    /// What to add to the remote's refusal: the user may have set the clone up in a way that worked
    /// for git alone.
    pub(super) fn advice(&self) -> String {
        if self.not_obeyed.is_empty() {
            return String::new();
        }
        format!(
            "\nghswarm does not obey `{}` of the clone's own configuration, since an agent may have \
             written it; what you need of it belongs into yours: git config --global KEY VALUE",
            self.not_obeyed.join("`, `")
        )
    }
}

/// The private folder's configuration.
struct Configuration<'a> {
    addresses: &'a Addresses,
    remote: &'a str,
    listing: &'a Listing,
    common: &'a Path,
    includes: Vec<PathBuf>,
}

impl Configuration<'_> {
    fn render(&self) -> String {
        let mut text = String::from("# Written by ghswarm before each use.\n");
        let mut put = |section: &str, key: &str, value: &str| {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "[{section}]\n\t{key} = {}", in_quotes(value));
        };
        for file in &self.includes {
            put("include", "path", &file.to_string_lossy());
        }
        let sha256 = self.listing.is_sha256();
        put(
            "core",
            "repositoryFormatVersion",
            if sha256 { "1" } else { "0" },
        );
        if sha256 {
            put("extensions", "objectFormat", "sha256");
        }
        put("core", "bare", "true");
        // The refs here name a part of the clone's objects only: whoever tidied up by them would
        // delete the user's work.
        put("gc", "auto", "0");
        put("maintenance", "auto", "false");
        put("fetch", "writeCommitGraph", "false");
        // Otherwise git looks for refs where the clone's `objects/info/alternates` says.
        put("core", "alternateRefsCommand", "true");
        let lfs = self.listing.lfs_storage(self.common);
        put("lfs", "storage", &lfs.to_string_lossy());
        let remote = format!("remote {}", in_quotes(self.remote));
        put(&remote, "url", &self.addresses.fetch);
        for url in &self.addresses.push {
            put(&remote, "pushUrl", url);
        }
        if let Some(filter) = self.listing.partial_filter(self.remote) {
            put(&remote, "promisor", "true");
            put(&remote, "partialCloneFilter", filter);
        }
        text
    }
}

/// A value as `git-config(1)` reads it back.
pub(super) fn in_quotes(value: &str) -> String {
    let escaped = value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}

/// A path as a shell reads it back.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    if text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Two clones of one repository have two addresses.
fn short_name(common: &Path) -> String {
    text_hash("clone", &common.to_string_lossy())[..8].to_owned()
}

fn write_or_remove(path: &Path, text: Option<&str>) -> io::Result<()> {
    match text {
        Some(text) => write_if_other(path, text.as_bytes()),
        None => files::remove_if_there(path),
    }
}

fn write_if_other(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir()) {
        fs::remove_dir_all(path)?;
    }
    files::replace(path, bytes)
}
