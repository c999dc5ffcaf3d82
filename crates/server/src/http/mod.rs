//! Retake over HTTP.

pub mod sse;
