//! A program that does nothing: what starting any program costs here.

fn main() {}
