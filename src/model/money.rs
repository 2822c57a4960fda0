//! What agents cost, and how much they may. Tokens are what the agent counted, cached ones included; dollars
//! are what it reported itself, never an estimate of ours.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// So many millionths are a dollar.
const MICRO: f64 = 1_000_000.0;

/// US dollars, in millionths: sums of money must not depend on the order in which they are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Usd(u64);

impl Usd {
    /// From a number of dollars. What is negative or no number at all is nothing.
    pub fn from_dollars(dollars: f64) -> Self {
        // A cast saturates, and makes nothing of NaN and of what is below zero.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturation is what is wanted"
        )]
        let micros = (dollars * MICRO).round() as u64;
        Self(micros)
    }

    /// The number of dollars.
    pub fn dollars(self) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "exact up to nine thousand million dollars"
        )]
        let micros = self.0 as f64;
        micros / MICRO
    }

    /// Is it nothing?
    pub fn is_nothing(self) -> bool {
        self.0 == 0
    }

    fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // To a hundredth, but never an amount as nothing.
        if self.0 > 0 && self.0 < 5_000 {
            return f.write_str("$0.01");
        }
        write!(f, "${:.2}", self.dollars())
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::from_dollars)
    }
}

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Tokens in and out, cached ones included.
    pub tokens: u64,
    /// US dollars.
    pub usd: Usd,
}

impl Spent {
    /// Nothing, as far as is known?
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            usd: Usd(self.usd.0.saturating_add(other.usd.0)),
        }
    }

    /// What is left without `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            usd: self.usd.saturating_sub(other.usd),
        }
    }
}

impl std::iter::Sum for Spent {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Self::and)
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokens", grouped(self.tokens))?;
        if self.usd.is_nothing() {
            return Ok(());
        }
        write!(f, ", {}", self.usd)
    }
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How much may be spent on something; 0: no cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Allowance {
    /// Tokens.
    pub tokens: u64,
    /// US dollars.
    pub usd: Usd,
}

/// Which cap was reached, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// That of tokens.
    Tokens {
        /// Spent.
        spent: u64,
        /// Allowed.
        cap: u64,
    },
    /// That of dollars.
    Usd {
        /// Spent.
        spent: Usd,
        /// Allowed.
        cap: Usd,
    },
}

impl Reached {
    /// What is said of it; `of` is `run`, `issue` or `day`, as in the configuration's keys.
    pub fn words(self, of: &str) -> String {
        match self {
            Self::Tokens { spent, cap } => format!(
                "{} tokens were used of {} (`budget.tokens.{of}`)",
                grouped(spent),
                grouped(cap)
            ),
            Self::Usd { spent, cap } => {
                format!("{spent} was spent of {cap} (`budget.usd.{of}`)")
            }
        }
    }
}

impl Allowance {
    /// Is there no cap at all?
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The cap that is reached, if one is.
    pub fn reached(&self, spent: Spent) -> Option<Reached> {
        if self.tokens > 0 && spent.tokens >= self.tokens {
            return Some(Reached::Tokens {
                spent: spent.tokens,
                cap: self.tokens,
            });
        }
        let usd = !self.usd.is_nothing() && spent.usd >= self.usd;
        usd.then_some(Reached::Usd {
            spent: spent.usd,
            cap: self.usd,
        })
    }

    /// What is left of the caps after `spent`. One that is reached leaves the least there is, since 0 would
    /// mean that there is none.
    #[must_use]
    pub fn left(&self, spent: Spent) -> Self {
        let rest = |cap: u64, spent: u64| match cap {
            0 => 0,
            cap => cap.saturating_sub(spent).max(1),
        };
        Self {
            tokens: rest(self.tokens, spent.tokens),
            usd: Usd(rest(self.usd.0, spent.usd.0)),
        }
    }

    /// The tighter one of each.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let tighter = |a: u64, b: u64| match (a, b) {
            (0, cap) | (cap, 0) => cap,
            (a, b) => a.min(b),
        };
        Self {
            tokens: tighter(self.tokens, other.tokens),
            usd: Usd(tighter(self.usd.0, other.usd.0)),
        }
    }

    /// As if all of it were spent; where there is no cap, nothing is known.
    pub fn in_full(&self) -> Spent {
        Spent {
            tokens: self.tokens,
            usd: self.usd,
        }
    }
}

/// The budgets of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    /// Of one run.
    pub run: Allowance,
    /// Of one issue.
    pub issue: Allowance,
    /// Of one day (UTC) on this home.
    pub day: Allowance,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(tokens: u64, dollars: f64) -> Spent {
        Spent {
            tokens,
            usd: Usd::from_dollars(dollars),
        }
    }

    fn allowed(tokens: u64, dollars: f64) -> Allowance {
        Allowance {
            tokens,
            usd: Usd::from_dollars(dollars),
        }
    }

    #[test]
    fn dollars_survive_being_written_and_read() {
        for dollars in [0.0, 0.0333, 1.0 / 3.0, 12.5, 98_765.432_1] {
            let usd = Usd::from_dollars(dollars);
            let text = serde_json::to_string(&usd).unwrap();
            assert_eq!(serde_json::from_str::<Usd>(&text).unwrap(), usd, "{text}");
        }
        assert_eq!(
            serde_json::from_str::<Usd>("3").unwrap(),
            Usd::from_dollars(3.0)
        );
    }

    #[test]
    fn no_report_can_make_money() {
        for dollars in [-1.0, f64::NAN, f64::NEG_INFINITY] {
            assert!(Usd::from_dollars(dollars).is_nothing(), "{dollars}");
        }
        let rich = spent(u64::MAX, f64::INFINITY);
        assert_eq!(rich.and(rich), rich);
    }

    #[test]
    fn amounts_read_as_people_write_them() {
        assert_eq!(
            spent(1_234_567, 1.239).to_string(),
            "1,234,567 tokens, $1.24"
        );
        assert_eq!(spent(999, 0.0).to_string(), "999 tokens");
        assert_eq!(spent(1000, 0.0001).to_string(), "1,000 tokens, $0.01");
    }

    #[test]
    fn a_cap_of_zero_is_none() {
        assert_eq!(allowed(0, 0.0).reached(spent(u64::MAX, 1e9)), None);
        assert_eq!(allowed(0, 0.0).left(spent(5, 5.0)), allowed(0, 0.0));
    }

    #[test]
    fn what_is_left_of_a_cap_never_turns_into_none() {
        let left = allowed(100, 1.0).left(spent(100, 2.0));
        assert!(left.reached(spent(1, 0.0)).is_some());
        assert!(left.reached(spent(0, 0.01)).is_some());
        assert_eq!(allowed(100, 0.0).and(&allowed(40, 3.0)), allowed(40, 3.0));
        assert_eq!(allowed(100, 0.0).left(spent(30, 0.0)), allowed(70, 0.0));
    }
}
