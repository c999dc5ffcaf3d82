//! Formats times as ISO 8601.

use crate::Millis;

/// ISO 8601 in UTC: `2026-02-16T10:00:00.000Z`.
pub fn iso_8601(at: Millis) -> String {
    const MILLIS_PER_DAY: i64 = 86_400_000;
    let (days, ms) = (at.div_euclid(MILLIS_PER_DAY), at.rem_euclid(MILLIS_PER_DAY));
    // Years begin in March here, so that the leap day is the last day of one.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day = days.rem_euclid(146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, after) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + after;
    let (seconds, ms) = (ms / 1000, ms % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_771_236_000_123, "2026-02-16T10:00:00.123Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(iso_8601(at), text);
        }
    }
}
