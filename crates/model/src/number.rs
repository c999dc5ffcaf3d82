//! Numbers as people read them.

/// A number with its thousands apart: `30,000`.
pub fn format_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let said = [0, 999, 1000, 30_000, 1_234_567].map(format_count);
        assert_eq!(said, ["0", "999", "1,000", "30,000", "1,234,567"]);
    }
}
