#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| retake_fuzz::targets::mask(data));
