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

// Records is where labs note what they have made. A record is locked (flock(2)) for as long as
// its lab lives, however it dies.
const Records = "/run/weir"

// Prefix is that of the names of all namespaces of labs: weir-<id>-<name>.
const Prefix = "weir-"

// mostLabs is how many labs can live at one time.
const mostLabs = 256

// Set is the namespaces of one living lab.
type Set struct {
	ID     int
	file   *os.File
	made   []string
	lock   sync.Mutex
	closed bool
}

// living are the sets of this process.
var living struct {
	sync.Mutex
	sets  []*Set
	ended bool
}

// errEnded is that of a process whose sets CloseAll has closed.
var errEnded = errors.New("this process makes no more namespaces")

// CloseAll removes the namespaces of all sets of this process, which makes no more from then on: it is what to do
// before a process ends that cannot wait for its labs.
func CloseAll() error {
	living.Lock()
	defer living.Unlock()
	living.ended = true
	var all error
	for _, s := range living.sets {
		all = errors.Join(all, s.Close())
	}
	return all
}

// enlist notes a set that has begun.
func (s *Set) enlist() error {
	living.Lock()
	defer living.Unlock()
	if living.ended {
		return errEnded
	}
	living.sets = slices.DeleteFunc(living.sets, func(x *Set) bool {
		x.lock.Lock()
		defer x.lock.Unlock()
		return x.closed
	})
	living.sets = append(living.sets, s)
	return nil
}

func recordPath(id int) string { return filepath.Join(Records, fmt.Sprintf("lab-%d", id)) }

// NewSet takes the lowest number that no living lab has, and removes what a dead lab with that number has left. removed
// says what that was. A number of which something cannot be removed is passed over: its names are not free. Clean says
// what that is.
func NewSet() (s *Set, removed []string, err error) {
	if err := os.MkdirAll(Records, 0o755); err != nil {
		return nil, nil, err
	}
	var passed error // the first that is
	for id := 1; id <= mostLabs; id++ {
		f, err := lock(recordPath(id))
		if err != nil {
			passed = cmp.Or(passed, err)
			continue
		}
		if f == nil {
			continue
		}
		was, err := sweep(f)
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
		if err := s.enlist(); err != nil {
			return nil, removed, errors.Join(err, s.Close())
		}
		return s, removed, nil
	}
	if passed != nil {
		return nil, removed, fmt.Errorf("no number of %d is free: %w", mostLabs, passed)
	}
	return nil, removed, fmt.Errorf("%d labs are running", mostLabs)
}

// lock opens and locks a record; nil if a living lab has it.
func lock(path string) (*os.File, error) {
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
		// Another one may have removed it between the two calls.
		var open, there unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &open); err != nil {
			f.Close()
			return nil, fmt.Errorf("record %s: %w", path, err)
		}
		if unix.Stat(path, &there) == nil && there.Ino == open.Ino && there.Dev == open.Dev {
			return f, nil
		}
		f.Close()
	}
}

// entry is a namespace that a record names. Its inode is 0 where the lab has died while it made it.
type entry struct {
	name string
	ino  uint64
}

// parseRecord returns the namespaces that a record names. Lines that are damaged, or have names that cannot be a
// lab's, are left out.
func parseRecord(r io.Reader) (entries []entry) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		w := strings.Fields(lines.Text())
		switch {
		case len(w) == 2 && w[0] == "makes" && proper(w[1]):
			entries = append(entries, entry{name: w[1]})
		case len(w) == 2 && w[0] == "not" && len(entries) > 0 && entries[len(entries)-1].name == w[1]:
			entries = entries[:len(entries)-1]
		case len(w) == 3 && w[0] == "made" && len(entries) > 0 && entries[len(entries)-1].name == w[1]:
			entries[len(entries)-1].ino, _ = strconv.ParseUint(w[2], 10, 64)
		}
	}
	return entries
}

// sweep removes the namespaces that a record names, if they are still those, and returns their names. One that cannot
// be removed does not keep it from the others.
func sweep(f *os.File) (removed []string, err error) {
	if _, err := f.Seek(0, 0); err != nil {
		return nil, err
	}
	entries := parseRecord(f)
	var failed []error
	for _, e := range entries {
		ino, err := inode(Path(e.name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && e.ino != 0 && ino != e.ino && !bare(Path(e.name)) {
			continue
		}
		if err == nil {
			err = remove(e.name)
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		removed = append(removed, e.name)
	}
	return removed, errors.Join(failed...)
}

// proper reports whether a name can be one of ours: nothing else is ever removed.
func proper(name string) bool {
	return strings.HasPrefix(name, Prefix) && !strings.ContainsAny(name, "/ \t\n") && len(name) <= 200
}

// Name is the full name of a namespace of the set.
func (s *Set) Name(short string) string { return fmt.Sprintf("%s%d-%s", Prefix, s.ID, short) }

// Add makes a namespace. Its error is fs.ErrExist if there is one with this name, which
// then is not ours.
func (s *Set) Add(short string) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.closed {
		return errEnded
	}
	name := s.Name(short)
	if !proper(name) || short == "" {
		return fmt.Errorf("%q cannot be the name of a namespace", short)
	}
	if _, err := os.Lstat(Path(name)); err == nil {
		return fmt.Errorf("a network namespace %s, which is not this lab's: %w", name, fs.ErrExist)
	}
	if _, err := fmt.Fprintf(s.file, "makes %s\n", name); err != nil {
		return err
	}
	ino, err := create(name)
	if err != nil {
		fmt.Fprintf(s.file, "not %s\n", name) // the error that counts is there already
		return err
	}
	s.made = append(s.made, name)
	_, err = fmt.Fprintf(s.file, "made %s %d\n", name, ino)
	return err
}

// Close removes all namespaces of the set and its record. It may be called again, also
// after an error: until then the set lives.
func (s *Set) Close() error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.closed {
		return nil
	}
	if _, err := sweep(s.file); err != nil {
		return err
	}
	s.closed = true
	defer s.file.Close()
	return os.Remove(s.file.Name())
}

// Clean removes what dead labs have left, and their records; what living labs have stays. What cannot be removed does
// not keep it from the rest; the error names it all.
func Clean() (removed []string, err error) {
	entries, err := os.ReadDir(Records)
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
		path := filepath.Join(Records, e.Name())
		f, e := lock(path)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		if f == nil {
			continue
		}
		was, e := sweep(f)
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
