package page

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/document"
	"weir/study/claim"
	"weir/study/experiment"
)

// index knows the results below a folder. What a folder has is read once, and again when one of its files has changed:
// of those that nobody looks at, only the names and the time are. The names are read again when the folder around them
// has changed, and the times whenever somebody asks.
type index struct {
	dir string

	mu    sync.Mutex
	about map[string]*about
	names []string  // of what may be folders of results, the latest that were known first
	stamp time.Time // of dir, when it had these names; zero: they are to be read again
	known listing   // the last one

	listing sync.Mutex // held by the one who makes a list
}

// listing is all folders at a time.
type listing struct {
	list []entry // nobody changes it
	at   time.Time
	err  error
}

// entry is a folder of results.
type entry struct {
	Name string    // of the folder
	When time.Time // of its runs.json, or of the folder if there is none
	Done bool      // there is a runs.json
}

// about is what is shown of a folder in lists.
type about struct {
	stamp      [4]stamp
	Experiment string
	Title      string
	World      string
	Runs       int
	Holds      int
	Fails      int
	Undecided  int
	Changed    []experiment.Parameter // from the defaults of the experiment
	Quick      bool
	Revision   string
	Wrong      string // why it cannot be read
}

// stamp tells versions of a file apart.
type stamp struct {
	size int64
	time int64
}

// read are the files that about is made of.
var read = [4]string{"runs.json", "spec.yaml", "host.json", "origin.json"}

func newIndex(dir string) *index { return &index{dir: dir, about: map[string]*about{}} }

// folderName is what names of results folders look like: no path can be made of one.
var folderName = regexp.MustCompile(`^[^./\\\x00-\x1f][^/\\\x00-\x1f]{0,254}$`)

// patience is how long somebody who asks for the list waits for it, if there is an older one.
const patience = 100 * time.Millisecond

// list are all folders, the latest first. On a busy machine they may be as they were a while ago: then old is how long.
func (x *index) list() (list []entry, old time.Duration, err error) {
	begun := time.Now()
	made := make(chan listing, 1)
	go func() {
		x.listing.Lock() // who comes second has what the first one finds, if that begins now
		defer x.listing.Unlock()
		x.mu.Lock()
		l := x.known
		x.mu.Unlock()
		if l.at.Before(begun) {
			l = listing{at: time.Now()}
			l.list, l.err = x.look()
			x.mu.Lock()
			x.known = l
			x.mu.Unlock()
		}
		made <- l
	}()
	x.mu.Lock()
	before := x.known
	x.mu.Unlock()
	if before.at.IsZero() || before.err != nil {
		before = <-made
		return slices.Clone(before.list), 0, before.err
	}
	select {
	case l := <-made:
		return slices.Clone(l.list), 0, l.err
	case <-time.After(patience):
		return slices.Clone(before.list), time.Since(before.at), nil
	}
}

// look finds all folders.
func (x *index) look() ([]entry, error) {
	names, err := x.named()
	if err != nil {
		return nil, err
	}
	list := make([]entry, len(names)) // one without a name is no folder of results
	each(len(names), func(i int) { list[i] = entryOf(x.dir, names[i]) })
	list = slices.DeleteFunc(list, func(e entry) bool { return e.Name == "" })
	slices.SortFunc(list, func(a, b entry) int {
		return cmp.Or(b.When.Compare(a.When), strings.Compare(a.Name, b.Name))
	})
	x.reorder(list)
	return list, nil
}

// each does something for each of so many, on all cores: what takes time is to ask the kernel.
func each(n int, do func(i int)) {
	var group sync.WaitGroup
	var next atomic.Int64
	const most = 64 // at a time
	for range min(runtime.GOMAXPROCS(0), n) {
		group.Go(func() {
			for {
				end := int(next.Add(most))
				if end-most >= n {
					return
				}
				for i := end - most; i < min(end, n); i++ {
					do(i)
				}
			}
		})
	}
	group.Wait()
}

// racy is how long a folder may change without a change of its time: the clock of a file system ticks.
const racy = 2 * time.Second

// named are the names below the folder that may be of results.
func (x *index) named() ([]string, error) {
	info, err := os.Stat(x.dir)
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, document.Reason(err)
	}
	x.mu.Lock()
	known := x.names
	same := !x.stamp.IsZero() && x.stamp.Equal(info.ModTime())
	x.mu.Unlock()
	if same {
		return known, nil
	}
	begun := time.Now()
	all, err := os.ReadDir(x.dir)
	if err != nil {
		return nil, document.Reason(err)
	}
	var names []string
	for _, d := range all {
		if d.IsDir() && folderName.MatchString(d.Name()) {
			names = append(names, d.Name())
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.names, x.stamp = names, info.ModTime(); begun.Sub(x.stamp) < racy {
		x.stamp = time.Time{}
	}
	return names, nil
}

// reorder keeps the names in the order of a list, which is soon sorted again then.
func (x *index) reorder(list []entry) {
	names := make([]string, 0, len(list))
	seen := make(map[string]bool, len(list))
	for _, e := range list {
		names, seen[e.Name] = append(names, e.Name), true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, name := range x.names { // results may still come to be there
		if !seen[name] {
			names = append(names, name)
		}
	}
	x.names = names
}

// Path is that of its page.
func (e entry) Path() string { return "/results/" + url.PathEscape(e.Name) }

// entryOf looks at a folder; without a name it has no results.
func entryOf(dir, name string) entry {
	if info, err := os.Lstat(filepath.Join(dir, name, read[0])); err == nil {
		return entry{name, info.ModTime(), true}
	}
	if info, err := os.Lstat(filepath.Join(dir, name, "spec.yaml")); err == nil {
		return entry{name, info.ModTime(), false}
	}
	return entry{}
}

// folder is the path of a folder of results that a request names. The error is about one that is not there.
func (x *index) folder(name string) (string, error) {
	dir := filepath.Join(x.dir, name)
	if folderName.MatchString(name) && filepath.IsLocal(name) {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			if _, err := os.Lstat(filepath.Join(dir, "spec.yaml")); err == nil {
				return dir, nil
			}
		}
	}
	return "", missing("There are no such results.")
}

// of is what a folder has.
func (x *index) of(name string) *about {
	dir := filepath.Join(x.dir, name)
	var now [4]stamp
	for i, file := range read {
		if info, err := os.Lstat(filepath.Join(dir, file)); err == nil {
			now[i] = stamp{info.Size(), info.ModTime().UnixNano()}
		}
	}
	x.mu.Lock()
	a := x.about[name]
	x.mu.Unlock()
	if a != nil && a.stamp == now {
		return a
	}
	a = readAbout(dir)
	a.stamp = now
	x.mu.Lock()
	x.about[name] = a
	x.mu.Unlock()
	return a
}

// readAbout reads what lists show.
func readAbout(dir string) *about {
	a := &about{}
	file := func(name string, into any) bool {
		data, err := document.ReadFile(filepath.Join(dir, name), document.LargestResult)
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil && !os.IsNotExist(err) {
			a.Wrong = name + ": " + document.Reason(err).Error()
		}
		return err == nil
	}
	var runs struct {
		Experiment string            `json:"experiment"`
		World      string            `json:"world"`
		Runs       []json.RawMessage `json:"runs"`
		Claims     []struct {
			Verdict claim.Verdict `json:"verdict"`
		} `json:"claims"`
	}
	file("runs.json", &runs)
	a.Experiment, a.World, a.Runs = runs.Experiment, runs.World, len(runs.Runs)
	for _, c := range runs.Claims {
		switch c.Verdict {
		case claim.Holds:
			a.Holds++
		case claim.Fails:
			a.Fails++
		default:
			a.Undecided++
		}
	}
	var origin struct {
		Quick      bool                   `json:"quick"`
		Parameters []experiment.Parameter `json:"parameters"`
	}
	file("origin.json", &origin)
	a.Quick = origin.Quick
	for _, p := range origin.Parameters {
		if p.Source == "--set" || p.Source == "--seed" || strings.HasPrefix(p.Source, "--set ") {
			a.Changed = append(a.Changed, p)
		}
	}
	var host struct {
		Revision string `json:"revision"`
		Hosts    []struct {
			Revision string `json:"revision"`
		} `json:"hosts"`
	}
	file("host.json", &host)
	if a.Revision = host.Revision; a.Revision == "" && len(host.Hosts) > 0 {
		a.Revision = host.Hosts[0].Revision
	}
	a.Title = title(dir)
	return a
}

// title is that of spec.yaml, which begins with it.
func title(dir string) string {
	f, _, err := document.Open(filepath.Join(dir, "spec.yaml"))
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, _ := f.Read(head)
	for _, line := range strings.Split(string(head[:n]), "\n") {
		if t, ok := strings.CutPrefix(line, "title:"); ok {
			return strings.Trim(strings.TrimSpace(t), `"'`)
		}
	}
	return ""
}

// kept counts the runs that a folder has, finished.
func kept(dir string) (n int) {
	all, err := os.ReadDir(filepath.Join(dir, "runs"))
	if err != nil {
		return 0
	}
	for _, d := range all {
		if d.Type() == fs.FileMode(0) && strings.HasSuffix(d.Name(), ".json") {
			n++
		}
	}
	return n
}
