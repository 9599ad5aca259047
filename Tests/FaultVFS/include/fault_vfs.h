#ifndef FAULT_VFS_H
#define FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>

/// A SQLite VFS for tests. It passes every call on to the default VFS, and on the way it can
///
/// - make a chosen call fail ("the third write from now reports a full disk"), and
/// - record what is written and synced, to build from it the files as a disk could hold them after a power loss.
///
/// How a test uses it:
///
/// 1. `fault_vfs_register()`, then `fault_control_create(directory)` for a directory of its own.
/// 2. Open databases in that directory with the VFS "fault", for example with `file:/path/x.db?vfs=fault`.
/// 3. `fault_arm` before the step that shall fail; or `fault_record`, the workload, and `fault_write_image` for every
///    power loss to be tried. The images are opened with the normal VFS.
/// 4. Close the databases, then `fault_control_destroy`.
///
/// Everything is set per directory, so tests that run at once in one process do not disturb each other. All functions
/// may be called from any thread.
///
/// What it cannot see: pages read through a memory map (`PRAGMA mmap_size`, off by default) are not counted as reads,
/// and files changed without SQLite are not recorded.

#ifdef __clang__
#pragma clang assume_nonnull begin
#define FAULT_NULLABLE _Nullable
#else
#define FAULT_NULLABLE
#endif

/// Registers the VFS "fault". Repeated calls do nothing. The default VFS stays the default.
/// Returns a SQLite result code.
int fault_vfs_register(void);

// MARK: - Controls

/// The faults and the recording of one directory.
typedef struct fault_control fault_control;

/// Takes over all files below `directory` that are opened through the VFS "fault" from now on.
///
/// `directory` must be the real path: absolute, without symbolic links, because that is how SQLite names files. If
/// directories of several controls contain a file, the longest path wins, and of the same path the newest control.
/// Returns null if the path is not absolute.
fault_control *FAULT_NULLABLE fault_control_create(const char *directory);

/// Ends a control: nothing fails and nothing is recorded any more. Close the databases first. If some are still open,
/// they go on working, and the memory is freed with the last of them.
void fault_control_destroy(fault_control *control);

// MARK: - Faults

/// The calls that can be made to fail. Each is a method of the VFS or of an open file.
enum fault_kind {
    FAULT_OPEN,
    FAULT_READ,
    FAULT_WRITE,
    FAULT_SYNC,
    FAULT_TRUNCATE,
    FAULT_FILE_SIZE,
    /// `xLock`, the locks on the database file. In WAL mode only opening and closing take them.
    FAULT_LOCK,
    FAULT_DELETE,
    /// `xAccess`, the question whether a file exists.
    FAULT_ACCESS,
    /// `xShmMap`, a part of the shared memory of WAL mode.
    FAULT_SHM_MAP,
    /// `xShmLock`, but only taking a lock. Releasing one never fails. If these locks are busy for ever, SQLite tries
    /// for about ten seconds per statement before it gives up.
    FAULT_SHM_LOCK,
    FAULT_KIND_COUNT
};

/// Lets the `nth` call of a kind fail, counted from now, the next one being 1.
///
/// The failing call does not reach the file. Each kind can be armed for itself; arming a kind again replaces its fault.
///
/// - `forever`: whether all calls from the `nth` on fail, or only that one.
/// - `code`: what the call returns, for example `SQLITE_IOERR_WRITE`, `SQLITE_FULL`, or `SQLITE_BUSY` for locks. With
///   `SQLITE_OK`, or an `nth` below 1, nothing is armed.
/// - `partial`: how many bytes a failing write nevertheless writes; -1 for none. Other kinds ignore it.
void fault_arm(fault_control *control, enum fault_kind kind, long nth, bool forever, int code, long partial);

/// Ends the process, as `kill -9` does, instead of the `nth` call of a kind, counted from now.
void fault_arm_death(fault_control *control, enum fault_kind kind, long nth);

/// Lets each write that would make a write-ahead log longer than this fail with SQLITE_FULL: a disk that has as much room for the
/// log. 0 for no limit.
void fault_limit_log(fault_control *control, int64_t bytes);

/// Nothing fails any more, except beyond the limit of the log. The counts stay.
void fault_disarm(fault_control *control);

/// How many calls were made to fail since the last `fault_arm` of any kind.
long fault_fired(fault_control *control);

/// How many calls of a kind were made, failed ones included, since that kind was last armed, or since creation.
long fault_calls(fault_control *control, enum fault_kind kind);

// MARK: - Delays

/// Lets each merge of a write-ahead log wait for a random time between two of its steps: after it has read the header of the log,
/// and before it reads how much of the log is merged. SQLite calls `xUnfetch` there for the whole file, when another
/// connection has committed since. This is what a scheduler may do.
///
/// - `microseconds`: the longest wait; 0 for none.
void fault_hesitate(fault_control *control, unsigned microseconds);

/// Merges the log of a database again and again, as SQLite's own automatic merges do: without the write lock. The database is
/// opened through the VFS "fault" for it.
///
/// - `milliseconds`: when it ends.
/// Returns the SQLite result code of opening the database.
int fault_merge_unlocked(const char *path, long milliseconds);

// MARK: - Recording

enum fault_event_kind {
    /// What `fault_event_at` returns for an index out of range.
    FAULT_EVENT_NONE,
    FAULT_EVENT_CREATED,
    FAULT_EVENT_WRITE,
    FAULT_EVENT_TRUNCATE,
    FAULT_EVENT_SYNC,
    FAULT_EVENT_DELETE,
    FAULT_EVENT_MARKER
};

/// Something that happened to a file, or a marker set by the test.
struct fault_event {
    enum fault_event_kind kind;
    /// The last path component. Null for markers.
    const char *FAULT_NULLABLE file;
    /// Write: where it starts.
    /// Sync: how many events had been recorded when it began. Later ones, by other threads, it need not cover.
    int64_t offset;
    /// Write: how many bytes. Truncate: the new size.
    /// Sync and delete: 1 if the directory was synced as well, otherwise 0.
    int64_t length;
    /// Write: what was written.
    const uint8_t *FAULT_NULLABLE bytes;
    /// Marker: the number the test gave.
    uint64_t marker;
};

/// Starts or stops recording.
///
/// Starting forgets earlier events and takes the present contents of the files in the directory (not those in
/// directories below, and not `*-shm`) as safely on disk. No call that writes may be under way at that moment.
/// Recorded are databases, their journals and WAL files; the shared memory `*-shm` does not survive a power loss.
/// Stopping keeps the events. Returns a SQLite result code: not `SQLITE_OK` if the files could not be read, and then
/// nothing is recorded.
int fault_record(fault_control *control, bool on);

/// Adds a marker to the events, for example for a commit that was reported as done. Ignored while not recording.
void fault_mark(fault_control *control, uint64_t marker);

/// How many events there are. They stand in the order in which the calls returned. Calls that failed are left out,
/// except for the bytes of a partial write.
long fault_event_count(fault_control *control);

/// One event. Its pointers are valid until the events are forgotten (`fault_clear_events`, `fault_record` with true) or
/// the control is destroyed.
struct fault_event fault_event_at(fault_control *control, long index);

/// Forgets all events. If recording is on, it starts again, as with `fault_record`, whose result is returned.
int fault_clear_events(fault_control *control);

// MARK: - Power loss

/// Which of the writes that were never synced reach the disk in an image.
enum fault_image_mode {
    /// All, as if the process had been killed but the machine had gone on.
    FAULT_IMAGE_ALL = 0,
    /// A random subset.
    FAULT_IMAGE_SUBSET = 1,
    /// A random subset, and of some of these writes only some sectors of 512 bytes.
    FAULT_IMAGE_TORN = 2,
    /// A random number of the oldest, in order.
    FAULT_IMAGE_PREFIX = 3
};

/// Writes the files as a disk could hold them after a power loss right after the first `prefix` events.
///
/// What was synced is there, on a disk that keeps its promises. For the rest, `mode` (a `fault_image_mode`) says what
/// happens, separately for every file, and `seed` decides; the same events and arguments give the same image.
///
/// - A later write wins over an earlier one to the same place. So a subset also covers a disk that reorders writes: in
///   what order two writes to different places arrive cannot be seen.
/// - Bytes outside a write are never harmed, as SQLite assumes too (`SQLITE_IOCAP_POWERSAFE_OVERWRITE`). Places never
///   reached by any write hold zeros.
/// - That a file was created or deleted is safe once the directory was synced, its creation also once the file was
///   synced. Until then such steps are lost from some point on, the latest first.
///
/// `directory` is created if it does not exist, and must be empty. It should not be the control's directory. Stop the
/// workload first, or at least do not forget events during the call. Returns 0 or a value of `errno`.
int fault_write_image(fault_control *control, long prefix, uint64_t seed, int mode, const char *directory);

#ifdef __clang__
#pragma clang assume_nonnull end
#endif

#endif
