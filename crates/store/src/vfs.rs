//! SQLite's own writes, each behind one step of the seam. Tests only.
//!
//! The VFS is SQLite's own but for two functions: opened files get a table of methods in which
//! those that change a file step first, and removing a file steps, too. So a kill or an error at
//! step n may fall between any two pages of a transaction.
//!
//! Writes of SQLite to mapped memory (the index of the WAL) are no steps: the index is rebuilt
//! from the WAL after a kill, and never has to be durable.

#![expect(unsafe_code, reason = "a VFS is a table of C functions")]

use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::ptr;
use std::sync::{Mutex, Once, PoisonError};

use rusqlite::ffi::{
    SQLITE_CANTOPEN, SQLITE_ERROR, SQLITE_FULL, SQLITE_IOERR_DELETE, SQLITE_IOERR_FSYNC,
    SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE, SQLITE_OK, SQLITE_OPEN_CREATE,
    SQLITE_READONLY, sqlite3_file, sqlite3_filename, sqlite3_int64, sqlite3_io_methods,
    sqlite3_vfs, sqlite3_vfs_find, sqlite3_vfs_register,
};
use rustix::io::Errno;

/// Makes it the VFS of every connection that this process opens from now on.
pub(crate) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: SQLite's default VFS lives as long as the process, and so does the copy, which
        // differs from it in functions of the same types.
        let code = unsafe {
            let original = sqlite3_vfs_find(ptr::null());
            let own = Box::leak(Box::new(SteppingVfs { stepping: *original, original }));
            own.stepping.pNext = ptr::null_mut();
            own.stepping.zName = c"retake-steps".as_ptr();
            own.stepping.xOpen = Some(open);
            own.stepping.xDelete = Some(delete);
            sqlite3_vfs_register(&raw mut own.stepping, 1)
        };
        assert_eq!(code, SQLITE_OK, "SQLite takes a VFS");
    });
}

/// What SQLite is given, and what it had. The first field is what its functions are called with.
#[repr(C)]
struct SteppingVfs {
    stepping: sqlite3_vfs,
    original: *mut sqlite3_vfs,
}

/// The same of an open file's methods.
#[repr(C)]
struct SteppingMethods {
    stepping: sqlite3_io_methods,
    original: *const sqlite3_io_methods,
}

// SAFETY: tables of functions that are never changed.
unsafe impl Sync for SteppingMethods {}
// SAFETY: as above.
unsafe impl Send for SteppingMethods {}

/// Method tables, one for each kind of file that was opened.
static METHOD_TABLES: Mutex<Vec<&'static SteppingMethods>> = Mutex::new(Vec::new());

fn stepping(original: *const sqlite3_io_methods) -> *const sqlite3_io_methods {
    let mut kinds = METHOD_TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = kinds.iter().copied().find(|kind| ptr::eq(kind.original, original));
    let kind = known.unwrap_or_else(|| {
        // SAFETY: a file that was opened has methods, and they live as long as the process.
        let mut stepping = unsafe { *original };
        stepping.xWrite = Some(write);
        stepping.xTruncate = Some(truncate);
        stepping.xSync = Some(sync);
        // Without shared memory there is none to step.
        stepping.xShmMap = stepping.xShmMap.and(Some(map_shared));
        stepping.xShmUnmap = stepping.xShmUnmap.and(Some(unmap_shared));
        let kind: &'static SteppingMethods =
            Box::leak(Box::new(SteppingMethods { stepping, original }));
        kinds.push(kind);
        kind
    });
    &raw const kind.stepping
}

/// SQLite's own methods of a file that [`open`] opened.
unsafe fn original(file: *mut sqlite3_file) -> &'static sqlite3_io_methods {
    // SAFETY: the file's methods are the first field of `SteppingMethods`, which is never freed.
    unsafe { &*(*(*file).pMethods.cast::<SteppingMethods>()).original }
}

/// Returns SQLite's error code for a step that failed.
fn sqlite_error_code(error: &io::Error, otherwise: c_int) -> c_int {
    match Errno::from_io_error(error) {
        Some(Errno::NOSPC) => SQLITE_FULL,
        Some(Errno::ROFS) => SQLITE_READONLY,
        _ => otherwise,
    }
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls with the VFS that was registered and room for its kind of file.
    unsafe {
        (*file).pMethods = ptr::null();
        if flags & SQLITE_OPEN_CREATE != 0 && retake_seam::step("sqlite open").is_err() {
            return SQLITE_CANTOPEN;
        }
        let inner = (*vfs.cast::<SteppingVfs>()).original;
        let Some(open) = (*inner).xOpen else { return SQLITE_ERROR };
        let code = open(inner, name, file, flags, out_flags);
        if !(*file).pMethods.is_null() {
            (*file).pMethods = stepping((*file).pMethods);
        }
        code
    }
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync_dir: c_int) -> c_int {
    if let Err(error) = retake_seam::step("sqlite unlink") {
        return sqlite_error_code(&error, SQLITE_IOERR_DELETE);
    }
    // SAFETY: passed on as it came.
    unsafe {
        let inner = (*vfs.cast::<SteppingVfs>()).original;
        (*inner).xDelete.map_or(SQLITE_ERROR, |delete| delete(inner, name, sync_dir))
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    bytes: *const c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite says how many bytes there are; the rest is passed on.
    unsafe {
        let Some(inner) = original(file).xWrite else { return SQLITE_ERROR };
        let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), length as usize);
        let mut code = SQLITE_OK;
        let written = retake_seam::write("sqlite write", bytes, |some| {
            code = inner(file, some.as_ptr().cast(), some.len() as c_int, offset);
            Ok(some.len())
        });
        match written {
            // As SQLite's own VFS takes it.
            Ok(some) if some < bytes.len() && code == SQLITE_OK => SQLITE_FULL,
            Ok(_) => code,
            Err(error) => sqlite_error_code(&error, SQLITE_IOERR_WRITE),
        }
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    if let Err(error) = retake_seam::step("sqlite truncate") {
        return sqlite_error_code(&error, SQLITE_IOERR_TRUNCATE);
    }
    // SAFETY: passed on as it came.
    unsafe { original(file).xTruncate.map_or(SQLITE_ERROR, |inner| inner(file, size)) }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    if let Err(error) = retake_seam::step("sqlite sync") {
        return sqlite_error_code(&error, SQLITE_IOERR_FSYNC);
    }
    // SAFETY: passed on as it came.
    unsafe { original(file).xSync.map_or(SQLITE_ERROR, |inner| inner(file, flags)) }
}

unsafe extern "C" fn map_shared(
    file: *mut sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // The first region makes the file.
    if (extend != 0 || region == 0) && retake_seam::step("sqlite shared memory").is_err() {
        // Nothing else: to SQLite, "read only" would mean that there is memory.
        return SQLITE_IOERR_SHMSIZE;
    }
    // SAFETY: passed on as it came.
    unsafe {
        let inner = original(file).xShmMap;
        inner.map_or(SQLITE_ERROR, |inner| inner(file, region, size, extend, out))
    }
}

unsafe extern "C" fn unmap_shared(file: *mut sqlite3_file, remove: c_int) -> c_int {
    // SQLite does not ask whether this worked: a step that fails leaves the file there.
    let remove = if retake_seam::step("sqlite unmap").is_ok() { remove } else { 0 };
    // SAFETY: passed on, at most without the removal.
    unsafe { original(file).xShmUnmap.map_or(SQLITE_ERROR, |inner| inner(file, remove)) }
}
