#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tutti_fuzz::ruby_function(data));
