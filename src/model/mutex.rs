//! The name of a lock that processes of one machine share, and the file that stands for it. The file
//! name is that of the published `local-mutex`, so that both lock each other out.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// A name that may be locked: any bytes but a blank or a control character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutexName(Vec<u8>);

/// Why a name is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MutexNameError {
    /// Nothing that a person could read in a log. Most often a variable that is not set, and all
    /// such callers would lock each other out.
    #[error("is blank")]
    Blank,
    /// It would break the line that names the lock, or hide a part of it.
    #[error("holds the control character {0:?}")]
    Control(char),
}

impl MutexName {
    /// Checks a name. Bytes that are no UTF-8 are fine, they are hashed as they are.
    pub fn parse(bytes: &[u8]) -> Result<Self, MutexNameError> {
        let valid = || bytes.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
        if let Some(control) = valid().find(|c| c.is_control()) {
            return Err(MutexNameError::Control(control));
        }
        if is_blank(bytes) {
            return Err(MutexNameError::Blank);
        }
        Ok(Self(bytes.to_vec()))
    }

    /// The name as it was given.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// `local-mutex-<sha256 of the name>.lock`.
    pub fn file_name(&self) -> String {
        let mut name = "local-mutex-".to_owned();
        for byte in Sha256::digest(&self.0) {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        name + ".lock"
    }
}

/// Empty, or nothing but white space of any script.
pub fn is_blank(bytes: &[u8]) -> bool {
    bytes
        .utf8_chunks()
        .all(|chunk| chunk.invalid().is_empty() && chunk.valid().trim().is_empty())
}

#[cfg(test)]
mod tests;
