package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"weir/internal/killpoint"
)

// prefix begins the names of unfinished files.
const prefix = ".new-"

// ErrTaken is the error of Claim if a living process writes this file.
var ErrTaken = errors.New("another process writes the file")

// errNoLocks is the error of lock on systems without locks: processes there do not know of each other's files.
var errNoLocks = errors.New("no locks")

// File is a file that is being written and not yet in its place.
type File struct {
	*os.File
	place string
	ended bool
}

// Create begins a file at place, which appears there only when it is committed. The caller must call Commit, which
// moves it to its place, or Discard, which removes it. The folder must exist.
func Create(place string) (*File, error) {
	killpoint.Reach(killpoint.Before, "create", place)
	for {
		f, err := os.CreateTemp(filepath.Dir(place), prefix+"*")
		if err != nil {
			return nil, err
		}
		killpoint.Reach(killpoint.After, "create", place)
		switch err := lock(f); {
		case err == ErrTaken: // RemoveUnfinished of another process was faster
			f.Close()
		case err != nil && err != errNoLocks:
			f.Close()
			os.Remove(f.Name())
			return nil, err
		case isLinked(f):
			return &File{File: f, place: place}, nil
		default:
			f.Close()
		}
	}
}

// Claim works as Create for a file with one writer at a time. It returns ErrTaken while another writer, in this or
// another living process, has begun it and neither committed nor discarded it. On systems without locks it never does.
// Files of a folder that differ only in their extension count as one.
func Claim(place string) (*File, error) {
	base := filepath.Base(place)
	name := filepath.Join(filepath.Dir(place), prefix+strings.TrimSuffix(base, filepath.Ext(base)))
	killpoint.Reach(killpoint.Before, "claim", place)
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		killpoint.Reach(killpoint.After, "claim", place)
		if err := lock(f); err != nil && err != errNoLocks {
			f.Close()
			return nil, err
		}
		if isLinked(f) {
			if err := f.Truncate(0); err != nil { // left by a dead process
				f.Close()
				return nil, err
			}
			return &File{File: f, place: place}, nil
		}
		f.Close() // the other writer has finished
	}
}

// isLinked reports whether an open file still has its name.
func isLinked(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(open, named)
}

// Commit moves the file to its place once all of it is on the disk, with mode 0644, and closes it. After an error the
// previous file is unchanged and the new one is removed. The last error may be of the folder's sync, with the file in
// its place.
func (f *File) Commit() error {
	err := f.Chmod(0o644)
	if err == nil {
		killpoint.Reach(killpoint.Before, "sync", f.place)
		err = f.Sync()
		killpoint.Reach(killpoint.After, "sync", f.place)
	}
	if err == nil {
		killpoint.Reach(killpoint.Before, "rename", f.place)
		err = os.Rename(f.Name(), f.place)
		killpoint.Reach(killpoint.After, "rename", f.place)
	}
	if err != nil {
		f.Discard()
		return err
	}
	f.ended = true
	err = syncFolder(filepath.Dir(f.place))
	return errors.Join(err, f.Close()) // the lock ends last
}

// Discard removes the file, unless it was committed or is nil.
func (f *File) Discard() {
	if f != nil && !f.ended {
		f.ended = true
		killpoint.Reach(killpoint.Before, "discard", f.place)
		os.Remove(f.Name())
		killpoint.Reach(killpoint.After, "discard", f.place)
		f.Close()
	}
}

// Remove removes a file as os.Remove does, with killpoints.
func Remove(name string) error {
	killpoint.Reach(killpoint.Before, "remove", name)
	defer killpoint.Reach(killpoint.After, "remove", name)
	return os.Remove(name)
}

// Write writes a complete file: a reader gets the old one or the new one, never a part, even after a power failure. The
// folder must exist.
func Write(place string, data []byte) error {
	f, err := Create(place)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Discard()
		return err
	}
	return f.Commit()
}

// MkdirAll makes folders as os.MkdirAll does; they persist after a power failure. An existing folder is no error.
func MkdirAll(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MkdirAll(parent); err != nil {
			return err
		}
	}
	killpoint.Reach(killpoint.Before, "mkdir", dir)
	err := os.Mkdir(dir, 0o777)
	killpoint.Reach(killpoint.After, "mkdir", dir)
	if err != nil {
		info, bad := os.Stat(dir)
		switch {
		case !errors.Is(err, fs.ErrExist) || bad != nil:
			return err
		case !info.IsDir():
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		}
		return nil // another process was faster
	}
	return syncFolder(parent)
}

// syncFolder writes the names in a folder to the disk. File systems without that operation need none.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	killpoint.Reach(killpoint.Before, "syncfolder", dir)
	defer killpoint.Reach(killpoint.After, "syncfolder", dir)
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// RemoveUnfinished removes the unfinished files in a folder that no living process writes. On systems without locks it
// removes no file. Files that cannot be removed stay.
func RemoveUnfinished(dir string) {
	left, err := filepath.Glob(filepath.Join(escape(dir), prefix+"*"))
	if err != nil {
		return
	}
	for _, name := range left {
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			continue // belongs to another user, or was moved to its place
		}
		if lock(f) == nil && isLinked(f) {
			killpoint.Reach(killpoint.Before, "sweep", dir)
			os.Remove(name)
			killpoint.Reach(killpoint.After, "sweep", dir)
		}
		f.Close()
	}
}

// CountUnfinished returns the number of files in a folder that living processes are writing; 0 on systems without
// locks.
func CountUnfinished(dir string) (n int) {
	left, err := filepath.Glob(filepath.Join(escape(dir), prefix+"*"))
	if err != nil {
		return 0
	}
	for _, name := range left {
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if f, err := os.Open(name); err == nil {
			if isLocked(f) && isLinked(f) {
				n++
			}
			f.Close()
		}
	}
	return n
}

// escape returns a pattern that matches exactly the folder's name.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// Lock waits until only this process has locked a folder; the returned function unlocks it. A folder that cannot be
// locked stays unlocked.
func Lock(dir string) (unlock func()) {
	f, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	waitLock(f)
	return func() { f.Close() }
}
