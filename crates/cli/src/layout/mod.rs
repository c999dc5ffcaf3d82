//! Layout of everything that is listed for people: columns that line up and fit the terminal.
//!
//! Invariant: where the width is known, no line of a table is wider, as long as it has room for one
//! letter of each column, and lines of code apart. What does not fit is shortened as its column says,
//! then columns are left out in their fixed order. Ids are cut only where nothing else is left to
//! shorten.

mod column;
mod shorten;
mod table;

pub(crate) use column::Column;
pub(crate) use shorten::{render_paragraph, shorten_title, wrap_message, wrap_words};
pub(crate) use table::{TableCell, TextTable};
