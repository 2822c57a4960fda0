//! The environment, read once. Everything else asks this value.

use std::collections::BTreeMap;

/// The variables of this process.
#[derive(Clone, Default)]
pub struct Env(BTreeMap<String, String>);

impl Env {
    /// Reads the process's variables; those that are not UTF-8 are left out.
    pub fn read() -> Self {
        Self(
            std::env::vars_os()
                .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
                .collect(),
        )
    }

    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).filter(|value| !value.is_empty()).cloned()
    }

    /// The same with one variable set.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut env = self.clone();
        env.0.insert(name.to_owned(), value.to_owned());
        env
    }

    /// All of them.
    pub fn all(&self) -> BTreeMap<String, String> {
        self.0.clone()
    }

    /// Values of variables whose names say that they are secret.
    pub fn secrets(&self) -> impl Iterator<Item = String> + '_ {
        self.0
            .iter()
            .filter(|(name, _)| crate::model::secrets::names_a_secret(name))
            .map(|(_, value)| value.clone())
    }
}
