//! The HTTP interface as other programs meet it: over a real socket, byte by byte.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]

mod abuse;
mod agent_tokens;
mod bulk;
mod calls;
mod cancelling;
mod client;
mod comments;
mod contents;
mod conversations;
mod curl;
mod description;
mod dialogs;
mod diffs;
mod every_caller;
mod every_route;
mod hunk_rejections;
mod hunks;
mod knowing;
mod limits;
mod live_page;
mod logins;
mod missing;
mod overview;
mod reading;
mod review_page;
mod reviewing;
mod schemathesis;
mod stage;
mod threats;
mod upkeep;
