package preflight

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"weir/internal/netns"
	"weir/internal/rtnl"
	softswitch "weir/worlds/switch"
)

// recordPrefix starts the names of records. A record is a file next to the records of labs. A switch writes the
// offloads that it disables there before it does so. It holds a lock on the file (flock(2)), which the kernel
// releases however the switch dies. The next switch, or RestoreDead, restores what a dead one left.
const recordPrefix = "switch-"

// MaxSwitches limits the number of switches on a machine.
const MaxSwitches = 256

// Change is an offload that was enabled.
type Change struct {
	Interface, Offload string
	Index              int
}

// Record is the open record of a living switch.
type Record struct{ file *os.File }

// namespaceInode returns the inode of the calling thread's network namespace.
func namespaceInode() (uint64, error) {
	var s unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &s); err != nil {
		return 0, fmt.Errorf("network namespace: %w", err)
	}
	return s.Ino, nil
}

// RecordContent is the content of a record. Its lines are "owner PID NAMESPACE", "bypass", "port INTERFACE" and
// "offload INTERFACE INDEX OFFLOAD".
type RecordContent struct {
	Path    string
	Changes []Change

	owner     int
	namespace uint64
	bypass    bool
	ports     []string
}

// parseRecord parses a record. It skips unknown lines, since a record may be truncated.
func parseRecord(text string) (r RecordContent) {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		w := strings.Fields(lines.Text())
		switch {
		case len(w) == 3 && w[0] == "owner":
			r.owner, _ = strconv.Atoi(w[1])
			r.namespace, _ = strconv.ParseUint(w[2], 10, 64)
		case len(w) == 1 && w[0] == "bypass":
			r.bypass = true
		case len(w) == 2 && w[0] == "port":
			r.ports = append(r.ports, w[1])
		case len(w) == 4 && w[0] == "offload":
			if index, err := strconv.Atoi(w[2]); err == nil && index > 0 {
				r.Changes = append(r.Changes, Change{w[1], w[3], index})
			}
		}
	}
	return r
}

// RestoreOffloads enables offloads again, in reverse order, also if an interface was renamed. It skips interfaces
// that no longer exist and offloads that are on. It returns the enabled ones as "INTERFACE OFFLOAD", and continues
// after errors.
func RestoreOffloads(all []Change) (done []string, err error) {
	for _, x := range slices.Backward(all) {
		name, e := interfaceName(x.Index)
		if e == unix.ENODEV {
			continue
		}
		if e == nil {
			var on []string
			if on, e = rtnl.ListOffloads(name); slices.Contains(on, x.Offload) {
				continue // it was not disabled yet, or cannot be enabled
			}
		}
		if e == nil {
			e = rtnl.SetOffload(name, x.Offload, true)
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("offload %s of %s: %w", x.Offload, x.Interface, e))
			continue
		}
		done = append(done, name+" "+x.Offload)
	}
	return done, err
}

// interfaceName returns the name of the interface with an index, ENODEV if it does not exist (netdevice(7),
// SIOCGIFNAME).
func interfaceName(index int) (string, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("")
	if err != nil {
		return "", err
	}
	r.SetUint32(uint32(index))
	err = unix.IoctlIfreq(fd, unix.SIOCGIFNAME, r)
	return r.Name(), err
}

// ForEachRecord reads all accessible records. It locks the records of dead switches of this network namespace and
// passes them to dead, which decides whether they are removed. It passes records of living switches of this namespace
// to living. It removes records of other namespaces that are gone.
func ForEachRecord(dead func(RecordContent) (remove bool, err error), living func(RecordContent)) error {
	here, err := namespaceInode()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(netns.RecordDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if n, ok := strings.CutPrefix(e.Name(), recordPrefix); !ok || n == "" || strings.Trim(n, "0123456789") != "" {
			continue
		}
		path := filepath.Join(netns.RecordDir, e.Name())
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		r := parseRecord(string(text))
		r.Path = path
		f, err := lockRecord(path, false)
		switch {
		case errors.Is(err, fs.ErrPermission):
			continue
		case err != nil:
			return err
		case f == nil:
			if r.namespace == here {
				living(r)
			}
			continue
		}
		// The switch may have written more before it died.
		text, err = io.ReadAll(f)
		r = parseRecord(string(text))
		r.Path = path
		switch {
		case err != nil:
			f.Close()
			return err
		case r.namespace != here && r.owner != 0 && len(r.Changes) > 0:
			if isGone(r.namespace) {
				os.Remove(path)
			}
		default:
			remove, err := dead(r)
			if err == nil && remove {
				err = os.Remove(path)
			}
			if err != nil {
				f.Close()
				return err
			}
		}
		f.Close()
	}
	return nil
}

// isGone reports whether a network namespace has neither a process nor a name. Its interfaces are then gone, too,
// or returned to their origin.
func isGone(namespace uint64) bool {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	paths := []string{}
	for _, p := range processes {
		paths = append(paths, filepath.Join("/proc", p.Name(), "ns/net"))
	}
	names, _ := os.ReadDir(netns.Dir) // an error means no names
	for _, n := range names {
		paths = append(paths, netns.Path(n.Name()))
	}
	for _, path := range paths {
		var s unix.Stat_t
		if unix.Stat(path, &s) == nil && s.Ino == namespace {
			return false
		}
	}
	return true
}

// lockRecord opens and locks a record, which it makes if create is true. It returns nil if a living switch has it, if
// another process has just removed it, or if it does not exist.
func lockRecord(path string, create bool) (*os.File, error) {
	flags := os.O_RDWR | os.O_APPEND
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if errors.Is(err, fs.ErrNotExist) && !create {
		return nil, nil
	}
	if errors.Is(err, fs.ErrPermission) && !create { // a reader can check the lock
		if f, e := os.Open(path); e == nil {
			defer f.Close()
			if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == unix.EWOULDBLOCK {
				return nil, nil
			}
		}
	}
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
	var openStat, pathStat unix.Stat_t
	if unix.Fstat(int(f.Fd()), &openStat) != nil || unix.Stat(path, &pathStat) != nil || openStat.Ino != pathStat.Ino {
		f.Close()
		return nil, nil
	}
	return f, nil
}

// NewRecord creates the record of a switch with these interfaces, and locks it until it is closed. It has no change
// yet. It is an error if there are MaxSwitches records.
func NewRecord(interfaces []string, bypass bool) (*Record, error) {
	here, err := namespaceInode()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(netns.RecordDir, 0o755); err != nil {
		return nil, err
	}
	for id := 1; id <= MaxSwitches; id++ {
		path := filepath.Join(netns.RecordDir, recordPrefix+strconv.Itoa(id))
		if text, err := os.ReadFile(path); err == nil && len(parseRecord(string(text)).Changes) > 0 {
			continue // record of a switch in another namespace
		}
		f, err := lockRecord(path, true)
		if err != nil {
			return nil, err
		}
		if f == nil {
			continue
		}
		text := fmt.Sprintf("owner %d %d\n", os.Getpid(), here)
		if bypass {
			text += "bypass\n"
		}
		for _, name := range interfaces {
			text += "port " + name + "\n"
		}
		if err = f.Truncate(0); err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("record %s: %w", path, err)
		}
		return &Record{f}, nil
	}
	return nil, fmt.Errorf("there are records of %d switches in %s; remove the old ones with --restore",
		MaxSwitches, netns.RecordDir)
}

// FD returns the file's descriptor.
func (r *Record) FD() int { return int(r.file.Fd()) }

// Name returns the file's name.
func (r *Record) Name() string { return r.file.Name() }

// Close closes the file. The record then counts as a dead switch's unless another process has it open.
func (r *Record) Close() error { return r.file.Close() }

// Remove empties the file and removes it. A process that is no longer root may fail to remove it; errors are ignored.
func (r *Record) Remove() {
	r.file.Truncate(0)
	os.Remove(r.file.Name())
}

// AddChange records a change. It must be called before the change is made.
func (r *Record) AddChange(x Change) error {
	_, err := fmt.Fprintf(r.file, "offload %s %d %s\n", x.Interface, x.Index, x.Offload)
	return err
}

// RestoreDead enables the offloads that dead switches of this network namespace left disabled, and removes their
// records. It returns the enabled ones as "INTERFACE OFFLOAD". It requires root.
func RestoreDead() (done []string, err error) {
	if os.Geteuid() != 0 {
		return nil, softswitch.SetupError("restoring offloads requires root")
	}
	err = ForEachRecord(func(r RecordContent) (bool, error) {
		was, err := RestoreOffloads(r.Changes)
		done = append(done, was...)
		return true, err
	}, func(RecordContent) {})
	return done, err
}
