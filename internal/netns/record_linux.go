package netns

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// RecordDir is the folder of the labs' records. A living lab holds a lock on its record (flock(2)), which the kernel
// releases however the lab dies.
const RecordDir = "/run/weir"

// Prefix starts the names of all labs' namespaces: weir-<id>-<name>.
const Prefix = "weir-"

// maxLabs limits the number of labs that run at one time.
const maxLabs = 256

// Set holds the namespaces of one living lab. It is safe for concurrent use.
type Set struct {
	ID     int      // number of the lab, from 1
	file   *os.File // the locked record
	names  []string // full names of the namespaces
	lock   sync.Mutex
	closed bool
}

// processSets holds the open sets of this process.
var processSets struct {
	sync.Mutex
	sets  []*Set
	ended bool // CloseAll has run
}

// errEnded is the error of making a namespace after CloseAll, or in a closed set.
var errEnded = errors.New("this process makes no more namespaces")

// CloseAll removes the namespaces of all sets of this process and refuses new ones from then on. A process calls
// it before it exits without waiting for its labs. The error joins all failures.
func CloseAll() error {
	processSets.Lock()
	defer processSets.Unlock()
	processSets.ended = true
	var all error
	for _, s := range processSets.sets {
		all = errors.Join(all, s.Close())
	}
	return all
}

// addToProcess registers a new set for CloseAll and forgets closed ones. It returns errEnded after CloseAll.
func (s *Set) addToProcess() error {
	processSets.Lock()
	defer processSets.Unlock()
	if processSets.ended {
		return errEnded
	}
	processSets.sets = slices.DeleteFunc(processSets.sets, func(x *Set) bool {
		x.lock.Lock()
		defer x.lock.Unlock()
		return x.closed
	})
	processSets.sets = append(processSets.sets, s)
	return nil
}

// recordPath returns the file of the record of lab number id.
func recordPath(id int) string { return filepath.Join(RecordDir, fmt.Sprintf("lab-%d", id)) }

// NewSet takes the lowest number without a living lab and removes the namespaces that a dead lab with that number left;
// removed lists their names. The set's record is then locked, and CloseAll closes the set. It skips a number if a
// namespace cannot be removed, because that name is still taken; RemoveDead reports why. If no number is free, the
// error is the first one met.
func NewSet() (s *Set, removed []string, err error) {
	if err := os.MkdirAll(RecordDir, 0o755); err != nil {
		return nil, nil, err
	}
	var passed error // error of the first skipped number
	for id := 1; id <= maxLabs; id++ {
		f, err := lockRecord(recordPath(id))
		if err != nil {
			passed = cmp.Or(passed, err)
			continue
		}
		if f == nil {
			continue
		}
		was, err := removeRecorded(f)
		removed = append(removed, was...)
		if err != nil {
			passed = cmp.Or(passed, fmt.Errorf("record %s: %w", f.Name(), err))
			f.Close()
			continue
		}
		err = f.Truncate(0)
		if err == nil {
			_, err = fmt.Fprintf(f, "owner %d\n", os.Getpid())
		}
		if err != nil {
			f.Close()
			return nil, removed, fmt.Errorf("record %s: %w", f.Name(), err)
		}
		s := &Set{ID: id, file: f}
		if err := s.addToProcess(); err != nil {
			return nil, removed, errors.Join(err, s.Close())
		}
		return s, removed, nil
	}
	if passed != nil {
		return nil, removed, fmt.Errorf("no number of %d is free: %w", maxLabs, passed)
	}
	return nil, removed, fmt.Errorf("%d labs are running", maxLabs)
}

// lockRecord opens and locks the record at path, which it creates if needed. It returns nil if a living lab holds
// the lock.
func lockRecord(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			f.Close()
			if err == unix.EWOULDBLOCK {
				return nil, nil
			}
			return nil, fmt.Errorf("record %s: %w", path, err)
		}
		// Another process may have removed the file between the two calls.
		var openStat, pathStat unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &openStat); err != nil {
			f.Close()
			return nil, fmt.Errorf("record %s: %w", path, err)
		}
		if unix.Stat(path, &pathStat) == nil && pathStat.Ino == openStat.Ino && pathStat.Dev == openStat.Dev {
			return f, nil
		}
		f.Close()
	}
}

// entry is a namespace listed in a record. ino is 0 if the lab died while it created the namespace.
type entry struct {
	name string
	ino  uint64
}

// parseRecord returns the namespaces listed in a record. It skips damaged lines and names that cannot belong to a
// lab.
func parseRecord(r io.Reader) (entries []entry) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		w := strings.Fields(lines.Text())
		switch {
		case len(w) == 2 && w[0] == "makes" && isLabName(w[1]):
			entries = append(entries, entry{name: w[1]})
		case len(w) == 2 && w[0] == "not" && len(entries) > 0 && entries[len(entries)-1].name == w[1]:
			entries = entries[:len(entries)-1]
		case len(w) == 3 && w[0] == "made" && len(entries) > 0 && entries[len(entries)-1].name == w[1]:
			entries[len(entries)-1].ino, _ = strconv.ParseUint(w[2], 10, 64)
		}
	}
	return entries
}

// removeRecorded removes the namespaces listed in the record f if their inodes still match or are unknown, and returns
// their names. Names that do not exist or belong to another namespace are skipped. It continues after a failure and
// joins the errors.
func removeRecorded(f *os.File) (removed []string, err error) {
	if _, err := f.Seek(0, 0); err != nil {
		return nil, err
	}
	entries := parseRecord(f)
	var failed []error
	for _, e := range entries {
		ino, err := namespaceInode(Path(e.name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && e.ino != 0 && ino != e.ino && !isStaleName(Path(e.name)) {
			continue
		}
		if err == nil {
			err = removeNamespace(e.name)
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		removed = append(removed, e.name)
	}
	return removed, errors.Join(failed...)
}

// isLabName reports whether name can belong to a lab. No other namespace is ever removed.
func isLabName(name string) bool {
	return strings.HasPrefix(name, Prefix) && !strings.ContainsAny(name, "/ \t\n") && len(name) <= 200
}

// Name returns the full name of the set's namespace with the given short name.
func (s *Set) Name(shortName string) string { return fmt.Sprintf("%s%d-%s", Prefix, s.ID, shortName) }

// Add creates the namespace with the short name, and writes that to the set's record. It fails with fs.ErrExist if a
// namespace has that name already; the set then does not own it.
func (s *Set) Add(shortName string) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.closed {
		return errEnded
	}
	name := s.Name(shortName)
	if !isLabName(name) || shortName == "" {
		return fmt.Errorf("%q cannot be the name of a namespace", shortName)
	}
	if _, err := os.Lstat(Path(name)); err == nil {
		return fmt.Errorf("a network namespace %s, which is not this lab's: %w", name, fs.ErrExist)
	}
	if _, err := fmt.Fprintf(s.file, "makes %s\n", name); err != nil {
		return err
	}
	ino, err := createNamespace(name)
	if err != nil {
		fmt.Fprintf(s.file, "not %s\n", name) // the error of createNamespace is the one to return
		return err
	}
	s.names = append(s.names, name)
	_, err = fmt.Fprintf(s.file, "made %s %d\n", name, ino)
	return err
}

// Close removes all namespaces of the set and its record. After an error the set stays open, and Close can be called
// again; on a closed set it has no effect.
func (s *Set) Close() error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.closed {
		return nil
	}
	if _, err := removeRecorded(s.file); err != nil {
		return err
	}
	s.closed = true
	defer s.file.Close()
	return os.Remove(s.file.Name())
}

// RemoveDead removes the namespaces and records that dead labs left, and returns the names of the namespaces; living
// labs keep theirs. It continues after a failure; the error joins all failures.
func RemoveDead() (removed []string, err error) {
	entries, err := os.ReadDir(RecordDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if n, ok := strings.CutPrefix(e.Name(), "lab-"); !ok || strings.Trim(n, "0123456789") != "" {
			continue
		}
		path := filepath.Join(RecordDir, e.Name())
		f, e := lockRecord(path)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		if f == nil {
			continue
		}
		was, e := removeRecorded(f)
		if removed = append(removed, was...); e == nil {
			e = os.Remove(path)
		}
		f.Close()
		if e != nil {
			err = errors.Join(err, fmt.Errorf("record %s: %w", path, e))
		}
	}
	return removed, err
}
