//! Times as people write and read them.
//!
//! The record knows milliseconds since the epoch; people see their local time,
//! JSON has ISO 8601 in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use retake_engine::model::Millis;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The time now, from the system's clock.
pub(crate) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(Millis::MAX)
}

/// For people: `2026-02-16 10:00:00` in the local time zone.
pub(crate) fn format_local(at: Millis) -> String {
    Timestamp::from_millisecond(at).map_or_else(
        |_| at.to_string(),
        |time| time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// How times are shown to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DateStyle {
    /// As people say it: `2 min ago`.
    Relative,
    /// `2026-02-16 10:00:00`, in the local time zone.
    Iso,
}

impl DateStyle {
    /// The style that `RETAKE_DATE` asks for. What it does not name is no error: recording must not
    /// depend on how times are shown.
    pub(crate) fn from_env() -> Self {
        let is_iso = std::env::var_os("RETAKE_DATE").is_some_and(|value| value == "iso");
        if is_iso { Self::Iso } else { Self::Relative }
    }
}

/// Shows times in one style, as of one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeFormat {
    pub(crate) style: DateStyle,
    pub(crate) now: Millis,
}

impl TimeFormat {
    /// A time for people.
    pub(crate) fn show(self, at: Millis) -> String {
        match self.style {
            DateStyle::Iso => format_local(at),
            DateStyle::Relative => format_relative(at, self.now, &TimeZone::system()),
        }
    }

    /// A time, or a dash if there is none.
    pub(crate) fn show_optional(self, at: Option<Millis>) -> String {
        at.map_or_else(|| "-".to_owned(), |at| self.show(at))
    }
}

/// `just now`, `5 min ago`, `3 h ago`, `2 days ago`, `16 Feb`, `16 Feb 2025`; `in 5 min` for a time
/// to come.
fn format_relative(at: Millis, now: Millis, zone: &TimeZone) -> String {
    let ms = now.saturating_sub(at);
    let amount = match ms.abs() / 60_000 {
        0 => return "just now".to_owned(),
        minutes @ 1..60 => format!("{minutes} min"),
        minutes @ 60..1440 => format!("{} h", minutes / 60),
        minutes @ 1440..2880 => format!("{} day", minutes / 1440),
        minutes @ 2880..43_200 => format!("{} days", minutes / 1440),
        _ => return format_day(at, now, zone),
    };
    if ms < 0 { format!("in {amount}") } else { format!("{amount} ago") }
}

fn format_day(at: Millis, now: Millis, zone: &TimeZone) -> String {
    let date = |at| Timestamp::from_millisecond(at).map(|time| time.to_zoned(zone.clone()).date());
    let (Ok(day), Ok(today)) = (date(at), date(now)) else { return at.to_string() };
    let form = if day.year() == today.year() { "%-d %b" } else { "%-d %b %Y" };
    day.strftime(form).to_string()
}

/// Formats a time as local weekday, date and minute: `Mon 16 Feb 2026 00:00`.
pub(crate) fn format_moment(at: Millis) -> String {
    Timestamp::from_millisecond(at).map_or_else(
        |_| at.to_string(),
        |time| time.to_zoned(TimeZone::system()).strftime("%a %-d %b %Y %H:%M").to_string(),
    )
}

/// Which end of a day a bare date means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DayBoundary {
    /// Its first millisecond, for `--since`.
    Start,
    /// Its last millisecond, for `--until`.
    Last,
}

/// Reads a time: `10m`, `2h`, `3d`, `1w`, `today`, `yesterday`, `2026-02-16`,
/// `2026-02-16T10:00[:00]` (local) or with a zone (`Z`, `+02:00`).
pub(crate) fn parse(text: &str, now: Millis, end: DayBoundary) -> Result<Millis, String> {
    parse_in(text, now, end, &TimeZone::system())
}

/// Validates that `text` is a time; for the command line, before the clock is read.
pub(crate) fn validate(text: &str) -> Result<String, String> {
    parse_in(text, 0, DayBoundary::Start, &TimeZone::UTC).map(|_| text.to_owned())
}

fn parse_in(text: &str, now: Millis, end: DayBoundary, zone: &TimeZone) -> Result<Millis, String> {
    let text = text.trim();
    let error = || {
        format!(
            "'{text}' is not a time; write 10m, 2h, 3d, today, yesterday, 2026-02-16 or 2026-02-16T10:00:00Z"
        )
    };
    if let Some(ago) = parse_relative(text) {
        return Ok(now.saturating_sub(ago));
    }
    let today = Timestamp::from_millisecond(now)
        .map(|time| time.to_zoned(zone.clone()).date())
        .map_err(|_| error())?;
    let day = match text {
        "today" => Some(today),
        "yesterday" => today.yesterday().ok(),
        _ if text.contains([':', 'T', 't', ' ', '[']) => None,
        _ => text.parse::<Date>().ok(),
    };
    if let Some(day) = day {
        let begin = |day: Date| zone.to_timestamp(day.at(0, 0, 0, 0)).map_err(|_| error());
        // Not every day has 24 hours.
        return match end {
            DayBoundary::Start => Ok(begin(day)?.as_millisecond()),
            DayBoundary::Last => {
                let next = day.tomorrow().map_err(|_| error())?;
                Ok(begin(next)?.as_millisecond() - 1)
            }
        };
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at.as_millisecond());
    }
    // With a zone in brackets, past which a time without zone would be read. A day has none.
    if let Some((local, _)) = text.split_once('[') {
        if !local.contains(':') {
            return Err(error());
        }
        let at = text.parse::<Zoned>().map_err(|_| error())?;
        return Ok(at.timestamp().as_millisecond());
    }
    let at = text.parse::<DateTime>().map_err(|_| error())?;
    zone.to_timestamp(at).map(Timestamp::as_millisecond).map_err(|_| error())
}

fn parse_relative(text: &str) -> Option<i64> {
    let text = text.strip_suffix(" ago").unwrap_or(text);
    let split = text.find(|char: char| !char.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let unit_ms = match unit {
        "s" | "sec" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => DAY_MS,
        "w" => 7 * DAY_MS,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(unit_ms)
}

#[cfg(test)]
mod tests {
    use retake_engine::iso_8601;

    use super::*;

    const NOW: Millis = 1_771_236_000_000; // 2026-02-16T10:00:00Z

    fn shown(text: &str, end: DayBoundary) -> String {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        parse_in(text, NOW, end, &zone).map_or_else(|error| error, iso_8601)
    }

    #[test]
    fn a_day_ends_where_the_next_one_begins() {
        let zone = TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap();
        let end = |day: &str| parse_in(day, NOW, DayBoundary::Last, &zone).map(iso_8601).unwrap();
        // 23 hours, and 25.
        assert_eq!(end("2026-03-08"), "2026-03-09T03:59:59.999Z");
        assert_eq!(end("2026-11-01"), "2026-11-02T04:59:59.999Z");
        assert_eq!(end("20261101"), end("2026-11-01"));
        let zoned = parse_in("2026-02-16T10:00[+02:00]", NOW, DayBoundary::Start, &zone);
        assert_eq!(zoned.map(iso_8601).unwrap(), "2026-02-16T08:00:00.000Z");
        assert!(parse_in("2026-02-16[+02:00]", NOW, DayBoundary::Last, &zone).is_err());
    }

    #[test]
    fn every_way_to_write_a_time() {
        for (text, at) in [
            ("10m", "2026-02-16T09:50:00.000Z"),
            ("90s", "2026-02-16T09:58:30.000Z"),
            ("2h", "2026-02-16T08:00:00.000Z"),
            ("3d", "2026-02-13T10:00:00.000Z"),
            ("1w ago", "2026-02-09T10:00:00.000Z"),
            ("2026-02-16T10:00:00Z", "2026-02-16T10:00:00.000Z"),
            ("2026-02-16T10:00:00.250+01:00", "2026-02-16T09:00:00.250Z"),
            // Without a zone it is the local one.
            ("2026-02-16T10:00:00", "2026-02-16T08:00:00.000Z"),
            ("2026-02-16 10:00", "2026-02-16T08:00:00.000Z"),
            ("2026-02-16", "2026-02-15T22:00:00.000Z"),
            ("today", "2026-02-15T22:00:00.000Z"),
            ("yesterday", "2026-02-14T22:00:00.000Z"),
        ] {
            assert_eq!(shown(text, DayBoundary::Start), at, "{text}");
        }
        assert_eq!(shown("2026-02-16", DayBoundary::Last), "2026-02-16T21:59:59.999Z");
        assert_eq!(shown("10m", DayBoundary::Last), "2026-02-16T09:50:00.000Z");
    }

    #[test]
    fn times_are_told_by_their_distance() {
        let shown = |at| format_relative(at, NOW, &TimeZone::UTC);
        let (minute, hour) = (60_000, 3_600_000);
        for (before, text) in [
            (0, "just now"),
            (minute - 1, "just now"),
            (minute, "1 min ago"),
            (59 * minute, "59 min ago"),
            (hour, "1 h ago"),
            (23 * hour, "23 h ago"),
            (DAY_MS, "1 day ago"),
            (29 * DAY_MS, "29 days ago"),
            (30 * DAY_MS, "17 Jan"),
            (300 * DAY_MS, "22 Apr 2025"),
            (-5 * minute, "in 5 min"),
            (-3 * DAY_MS, "in 3 days"),
        ] {
            assert_eq!(shown(NOW - before), text);
        }
    }

    #[test]
    fn what_is_no_time_says_what_would_be() {
        for text in
            ["", "soon", "10", "10x", "2026-13-01", "2026-02-16T25:00:00Z", "99999999999999999999d"]
        {
            assert!(validate(text).is_err(), "{text}");
        }
        assert!(shown("soon", DayBoundary::Start).contains("10m"));
    }
}
