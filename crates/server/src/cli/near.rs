//! Finds names similar to a misspelt one.

/// The most similar name, if it differs in a few letters only.
pub fn nearest<'a>(wrote: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let most = (wrote.chars().count() / 2).clamp(1, 3);
    let with_distance = names.map(|name| (distance(wrote, name), name));
    let near = with_distance.filter(|(distance, _)| *distance <= most);
    near.min().map(|(_, name)| name)
}

/// The number of letters to change, add or remove, ignoring case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut before = i;
        let mut left = i + 1;
        for (y, above) in b.iter().zip(row.iter_mut().skip(1)) {
            let changed = before + usize::from(x != *y);
            before = *above;
            left = changed.min(*above + 1).min(left + 1);
            *above = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_a_few_letters_away_are_near() {
        let names = ["order", "order-to-cash", "ship"];
        for (wrote, near) in [
            ("odrer", Some("order")),
            ("Order", Some("order")),
            ("orders", Some("order")),
            ("order-to-csh", Some("order-to-cash")),
            ("shop", Some("ship")),
            ("invoice", None),
            ("x", None),
        ] {
            assert_eq!(nearest(wrote, names.into_iter()), near, "{wrote}");
        }
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
