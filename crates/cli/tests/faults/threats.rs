//! Who may mean harm, row by row of the table of threats in docs/reliability.md.
