//! Large files are streamed: memory stays bounded, and a small edit costs little.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use retake_testkit::{TestProject, child};

const MIB: u64 = 1024 * 1024;
const PLAIN: u64 = 300 * MIB;
const SPARSE: u64 = 1024 * MIB;
const MEMORY: u64 = 256 * MIB;

#[test]
fn a_gigabyte_of_holes_and_300_mib_fit_in_256_mib_of_memory() {
    if child::role().is_some() {
        return record_large_files();
    }
    let project = TestProject::new();
    let sparse = File::create(project.root().join("sparse.img")).unwrap();
    sparse.set_len(SPARSE).unwrap();
    let mut rng = fastrand::Rng::with_seed(1);
    let mut plain = File::create(project.root().join("plain.bin")).unwrap();
    let mut block = vec![0; MIB as usize];
    for _ in 0..PLAIN / MIB {
        rng.fill(&mut block);
        plain.write_all(&block).unwrap();
    }
    let output = child::command("go").env("RETAKE_TEST_OUTER", project.outer()).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    let peak = number_after(&stdout, "peak ") * 1024;
    assert!(peak <= MEMORY, "peak memory {} MiB", peak / MIB);
    let grown = number_after(&stdout, "grown ");
    assert!(grown < 4 * MIB, "a small edit of a large file cost {grown} bytes");
    let opened = project.open();
    let change = project.changes().remove(0);
    let mut size = 0;
    let mut count = Counter(&mut size);
    let oid = change.before.known().unwrap().oid;
    opened.store().read_into(&oid, &mut count).unwrap();
    assert_eq!(size, PLAIN, "the old content can be streamed back, verified");
}

fn record_large_files() {
    let outer = std::env::var("RETAKE_TEST_OUTER").unwrap();
    let project = TestProject::at(Path::new(&outer));
    let opened = project.init();
    let before = opened.store().disk_size();
    let mut plain = File::options().write(true).open(project.root().join("plain.bin")).unwrap();
    plain.seek(SeekFrom::Start(PLAIN / 2)).unwrap();
    plain.write_all(b"a small edit in the middle").unwrap();
    drop(plain);
    assert_eq!(project.refresh().changes.len(), 1);
    let mut out = std::io::stdout().lock();
    writeln!(out, "grown {}", opened.store().disk_size().saturating_sub(before)).unwrap();
    writeln!(out, "peak {}", peak_kib()).unwrap();
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    number_after(&status, "VmHWM:")
}

fn number_after(text: &str, label: &str) -> u64 {
    let (_, rest) = text.split_once(label).unwrap_or_else(|| panic!("no {label} in {text}"));
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

struct Counter<'a>(&'a mut u64);

impl std::io::Write for Counter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        *self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
