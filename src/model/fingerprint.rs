//! Is it the same failure again? What differs from one time to the next (times, process numbers, ids) does
//! not count.

use super::trust::text_hash;

/// Times, process numbers and ids differ from one time to the next.
pub fn without_numbers(text: &str) -> String {
    let digit = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let mut same = String::with_capacity(text.len());
    for c in text.chars().map(digit) {
        if !(c == '0' && same.ends_with('0')) {
            same.push(c);
        }
    }
    same
}

/// A short name of a failure: the same for the same words, numbers aside.
pub fn fingerprint(what: &str, words: &str) -> String {
    let hash = text_hash(what, &without_numbers(words));
    hash[..16.min(hash.len())].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_make_no_other_failure() {
        assert_eq!(
            without_numbers("pid 17 at 10:02"),
            without_numbers("pid 4711 at 9:55")
        );
        assert_ne!(without_numbers("disk full"), without_numbers("no space"));
        let one = fingerprint("verify_failed", "3 failed in 0.41 s");
        assert_eq!(one, fingerprint("verify_failed", "3 failed in 12.9 s"));
        assert_ne!(one, fingerprint("agent_failed", "3 failed in 0.41 s"));
    }
}
