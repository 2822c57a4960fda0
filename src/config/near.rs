//! Which word was probably meant.

/// The word that was probably meant: a third of the letters may differ.
pub(super) fn nearest<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = words.map(|candidate| (distance(word, candidate), candidate));
    let most = (word.chars().count() / 3).max(1);
    scored
        .filter(|(score, _)| *score <= most)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Letters to add, drop, exchange or swap with their neighbour, `-` and `_` and the case being the
/// same (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let plain = |text: &str| {
        let text = text.to_ascii_lowercase().replace('-', "_");
        text.chars().collect::<Vec<_>>()
    };
    let (a, b) = (plain(a), plain(b));
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let exchanged = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = exchanged.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
