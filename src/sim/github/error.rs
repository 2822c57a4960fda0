//! How the simulated GitHub refuses: one value from which both faces make their answer.

use crate::ports::Refusal;

/// A refusal, in GitHub's own words.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("{status}: {message}")]
pub struct SimError {
    /// HTTP status.
    pub status: u16,
    /// GitHub's message.
    pub message: String,
    /// An entry of `errors`: resource, code, field or message.
    pub detail: Option<Detail>,
    /// What it means at the port.
    pub refusal: Refusal,
}

/// An entry of a validation error's `errors`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// `Issue`, `PullRequest`, `Label`.
    pub resource: &'static str,
    /// `custom`, `already_exists`, `invalid`, `missing_field`.
    pub code: &'static str,
    /// The field, where it is about one.
    pub field: Option<&'static str>,
    /// The words, for `custom`.
    pub message: Option<String>,
}

/// What an operation of the model answers.
pub type SimResult<T> = Result<T, SimError>;

impl SimError {
    /// A refusal with these words.
    pub fn new(status: u16, refusal: Refusal, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            detail: None,
            refusal,
        }
    }

    /// Message and detail in one line.
    pub(crate) fn words(&self) -> String {
        let Some(detail) = &self.detail else {
            return self.message.clone();
        };
        let field = detail.field.unwrap_or_default();
        let plain = format!("{} {field} {}", detail.resource, detail.code);
        format!(
            "{}; {}",
            self.message,
            detail.message.as_ref().unwrap_or(&plain)
        )
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, Refusal::NotFound, "Not Found")
    }

    pub(crate) fn stale(message: impl Into<String>) -> Self {
        Self::new(409, Refusal::Stale, message)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(422, Refusal::Invalid, message)
    }

    pub(crate) fn not_allowed(message: impl Into<String>) -> Self {
        Self::new(405, Refusal::Invalid, message)
    }

    pub(crate) fn validation(refusal: Refusal, detail: Detail) -> Self {
        Self {
            status: 422,
            message: "Validation Failed".to_owned(),
            detail: Some(detail),
            refusal,
        }
    }

    pub(crate) fn exists(resource: &'static str, field: &'static str) -> Self {
        let detail = Detail {
            resource,
            code: "already_exists",
            field: Some(field),
            message: None,
        };
        Self::validation(Refusal::Exists, detail)
    }

    pub(crate) fn custom(
        refusal: Refusal,
        resource: &'static str,
        message: impl Into<String>,
    ) -> Self {
        let message = Some(message.into());
        Self::validation(
            refusal,
            Detail {
                resource,
                code: "custom",
                field: None,
                message,
            },
        )
    }
}

impl From<git2::Error> for SimError {
    fn from(error: git2::Error) -> Self {
        Self::invalid(error.message())
    }
}
