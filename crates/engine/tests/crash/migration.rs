//! An older database becomes a newer one wholly or not at all.
