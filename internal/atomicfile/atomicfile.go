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

// prefix is that of the names of files that are not finished.
const prefix = ".new-"

// ErrTaken is the error of Claim if somebody living writes this file.
var ErrTaken = errors.New("somebody else writes it")

// errNoLocks is the error of lock where there are none: nobody is told from others there.
var errNoLocks = errors.New("no locks")

// File is a file that is being written and not yet in its place.
type File struct {
	*os.File
	place string
	ended bool
}

// Create begins a file. Commit moves it to its place, Discard gives it up: one of them must be called.
func Create(place string) (*File, error) {
	killpoint.Reach(killpoint.Before, "create", place)
	for {
		f, err := os.CreateTemp(filepath.Dir(place), prefix+"*")
		if err != nil {
			return nil, err
		}
		killpoint.Reach(killpoint.After, "create", place)
		switch err := lock(f); {
		case err == ErrTaken: // somebody who clears up was faster
			f.Close()
		case err != nil && err != errNoLocks:
			f.Close()
			os.Remove(f.Name())
			return nil, err
		case there(f):
			return &File{File: f, place: place}, nil
		default:
			f.Close()
		}
	}
}

// Claim is Create for a file that only one at a time is to make: the error is ErrTaken as long as another one, of this
// process or of another, has begun it and neither committed nor discarded it, and lives.
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
		if there(f) {
			if err := f.Truncate(0); err != nil { // a dead one's
				f.Close()
				return nil, err
			}
			return &File{File: f, place: place}, nil
		}
		f.Close() // who had it is done with it
	}
}

// there reports whether an open file still has its name.
func there(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(open, named)
}

// Commit moves the file to its place, when all of it is on the disk. After an error there is what was there before.
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
	return errors.Join(err, f.Close()) // the lock goes last
}

// Discard takes the file away, unless it was committed or is nil.
func (f *File) Discard() {
	if f != nil && !f.ended {
		f.ended = true
		killpoint.Reach(killpoint.Before, "discard", f.place)
		os.Remove(f.Name())
		killpoint.Reach(killpoint.After, "discard", f.place)
		f.Close()
	}
}

// Remove is os.Remove.
func Remove(name string) error {
	killpoint.Reach(killpoint.Before, "remove", name)
	defer killpoint.Reach(killpoint.After, "remove", name)
	return os.Remove(name)
}

// Write writes a whole file: a reader sees the old one or the new one, never a part, also after a loss of power.
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

// MkdirAll is os.MkdirAll; the folders that it makes stay after a loss of power.
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

// syncFolder writes the names in a folder to the disk. File systems that cannot do that do it by themselves.
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

// Sweep removes the unfinished files in a folder that nobody living writes.
func Sweep(dir string) {
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
			continue // it is somebody else's, or was moved in by now
		}
		if lock(f) == nil && there(f) {
			killpoint.Reach(killpoint.Before, "sweep", dir)
			os.Remove(name)
			killpoint.Reach(killpoint.After, "sweep", dir)
		}
		f.Close()
	}
}

// Written is how many files of a folder somebody living writes just now. Where there are no locks, nobody is told.
func Written(dir string) (n int) {
	left, err := filepath.Glob(filepath.Join(escape(dir), prefix+"*"))
	if err != nil {
		return 0
	}
	for _, name := range left {
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if f, err := os.Open(name); err == nil {
			if locked(f) && there(f) {
				n++
			}
			f.Close()
		}
	}
	return n
}

// escape makes of a folder's name a pattern that matches it alone.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// Lock waits until this one alone has locked a folder; the returned function ends that. Where a folder cannot be
// locked, nothing is.
func Lock(dir string) (unlock func()) {
	f, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	wait(f)
	return func() { f.Close() }
}
