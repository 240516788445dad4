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

// index lists the results below a folder. It reads a summary of a folder once, and again when one of its files has
// changed; without a request for the summary it reads only the name and the time. It reads the names again when the
// parent folder has changed, and the times on each request.
type index struct {
	dir string

	mu          sync.Mutex
	summaries   map[string]*folderSummary
	names       []string      // of folders that may hold results; the known latest first
	dirTime     time.Time     // modification time of dir when the names were read; zero: read them again
	lastListing folderListing // the latest list

	listMutex sync.Mutex // held while a list is made
}

// folderListing is the list of all folders at one time.
type folderListing struct {
	list     []folderEntry // not modified
	readTime time.Time
	err      error
}

// folderEntry is a folder of results.
type folderEntry struct {
	Name string    // name of the folder
	When time.Time // time of runs.json, or of spec.yaml without it
	Done bool      // runs.json exists
}

// folderSummary is the part of a folder that lists show.
type folderSummary struct {
	stamps     [4]fileStamp
	Experiment string
	Title      string
	World      string
	Runs       int
	Holds      int
	Fails      int
	Undecided  int
	Changed    []experiment.Parameter // parameters changed from the experiment's defaults
	Quick      bool
	Revision   string
	Wrong      string // error of reading; "": no error
}

// fileStamp identifies a version of a file.
type fileStamp struct {
	size int64
	time int64
}

// summaryFiles are the files that a summary depends on.
var summaryFiles = [4]string{"runs.json", "spec.yaml", "host.json", "origin.json"}

// newIndex returns an index of the results below dir.
func newIndex(dir string) *index { return &index{dir: dir, summaries: map[string]*folderSummary{}} }

// folderName matches names of results folders. A match contains no path separator.
var folderName = regexp.MustCompile(`^[^./\\\x00-\x1f][^/\\\x00-\x1f]{0,254}$`)

// listTimeout limits the time that a request waits for a new list if an older one exists.
const listTimeout = 100 * time.Millisecond

// listFolders returns all folders, the latest first, as a copy. If reading takes longer than listTimeout, it may return
// an older list; old is then its age, else 0.
func (x *index) listFolders() (list []folderEntry, old time.Duration, err error) {
	begun := time.Now()
	made := make(chan folderListing, 1)
	go func() {
		x.listMutex.Lock() // a waiting request reuses a list that was begun after the request
		defer x.listMutex.Unlock()
		x.mu.Lock()
		l := x.lastListing
		x.mu.Unlock()
		if l.readTime.Before(begun) {
			l = folderListing{readTime: time.Now()}
			l.list, l.err = x.scanFolders()
			x.mu.Lock()
			x.lastListing = l
			x.mu.Unlock()
		}
		made <- l
	}()
	x.mu.Lock()
	before := x.lastListing
	x.mu.Unlock()
	if before.readTime.IsZero() || before.err != nil {
		before = <-made
		return slices.Clone(before.list), 0, before.err
	}
	select {
	case l := <-made:
		return slices.Clone(l.list), 0, l.err
	case <-time.After(listTimeout):
		return slices.Clone(before.list), time.Since(before.readTime), nil
	}
}

// scanFolders reads the list of all folders, the latest first, and remembers their order. Without the parent folder the
// list is empty.
func (x *index) scanFolders() ([]folderEntry, error) {
	names, err := x.listNames()
	if err != nil {
		return nil, err
	}
	list := make([]folderEntry, len(names)) // an entry without a name is not a results folder
	forEachParallel(len(names), func(i int) { list[i] = readEntry(x.dir, names[i]) })
	list = slices.DeleteFunc(list, func(e folderEntry) bool { return e.Name == "" })
	slices.SortFunc(list, func(a, b folderEntry) int {
		return cmp.Or(b.When.Compare(a.When), strings.Compare(a.Name, b.Name))
	})
	x.rememberOrder(list)
	return list, nil
}

// forEachParallel calls do for 0 … n−1 on all cores, concurrently and in any order, and waits for all calls. The time
// is spent in system calls.
func forEachParallel(n int, do func(i int)) {
	var group sync.WaitGroup
	var next atomic.Int64
	const batch = 64 // indices per step
	for range min(runtime.GOMAXPROCS(0), n) {
		group.Go(func() {
			for {
				end := int(next.Add(batch))
				if end-batch >= n {
					return
				}
				for i := end - batch; i < min(end, n); i++ {
					do(i)
				}
			}
		})
	}
	group.Wait()
}

// clockTick is the time in which a folder may change without a new modification time, because the file system's clock
// is coarse.
const clockTick = 2 * time.Second

// listNames returns the names below the folder that may be results. It reads them only if the folder has changed. The
// caller does not change the list.
func (x *index) listNames() ([]string, error) {
	info, err := os.Stat(x.dir)
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, document.UnwrapPathError(err)
	}
	x.mu.Lock()
	known := x.names
	same := !x.dirTime.IsZero() && x.dirTime.Equal(info.ModTime())
	x.mu.Unlock()
	if same {
		return known, nil
	}
	begun := time.Now()
	all, err := os.ReadDir(x.dir)
	if err != nil {
		return nil, document.UnwrapPathError(err)
	}
	var names []string
	for _, d := range all {
		if d.IsDir() && folderName.MatchString(d.Name()) {
			names = append(names, d.Name())
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.names, x.dirTime = names, info.ModTime(); begun.Sub(x.dirTime) < clockTick {
		x.dirTime = time.Time{}
	}
	return names, nil
}

// rememberOrder stores the names in the order of the list, so that the next sort is fast. Names that the list lacks
// follow.
func (x *index) rememberOrder(list []folderEntry) {
	names := make([]string, 0, len(list))
	inList := make(map[string]bool, len(list))
	for _, e := range list {
		names, inList[e.Name] = append(names, e.Name), true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, name := range x.names { // results may still appear there
		if !inList[name] {
			names = append(names, name)
		}
	}
	x.names = names
}

// Path returns the path of the folder's page.
func (e folderEntry) Path() string { return "/results/" + url.PathEscape(e.Name) }

// readEntry returns the entry of a folder; an empty Name if it has no results. A folder with only spec.yaml is an
// unfinished one.
func readEntry(dir, name string) folderEntry {
	if info, err := os.Lstat(filepath.Join(dir, name, summaryFiles[0])); err == nil {
		return folderEntry{name, info.ModTime(), true}
	}
	if info, err := os.Lstat(filepath.Join(dir, name, "spec.yaml")); err == nil {
		return folderEntry{name, info.ModTime(), false}
	}
	return folderEntry{}
}

// findFolder returns the path of the results folder with the given name, or a not-found error. The name may come from a
// request: paths that lead elsewhere and links are not found.
func (x *index) findFolder(name string) (string, error) {
	dir := filepath.Join(x.dir, name)
	if folderName.MatchString(name) && filepath.IsLocal(name) {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			if _, err := os.Lstat(filepath.Join(dir, "spec.yaml")); err == nil {
				return dir, nil
			}
		}
	}
	return "", notFound("The results do not exist.")
}

// loadSummary returns the summary of a folder. It reads the folder's files if their size or time has changed. The
// caller does not change the summary.
func (x *index) loadSummary(name string) *folderSummary {
	dir := filepath.Join(x.dir, name)
	var now [4]fileStamp
	for i, file := range summaryFiles {
		if info, err := os.Lstat(filepath.Join(dir, file)); err == nil {
			now[i] = fileStamp{info.Size(), info.ModTime().UnixNano()}
		}
	}
	x.mu.Lock()
	a := x.summaries[name]
	x.mu.Unlock()
	if a != nil && a.stamps == now {
		return a
	}
	a = readSummary(dir)
	a.stamps = now
	x.mu.Lock()
	x.summaries[name] = a
	x.mu.Unlock()
	return a
}

// readSummary reads the summary of a folder. Missing files leave their fields empty, and damaged ones are described in
// Wrong.
func readSummary(dir string) *folderSummary {
	a := &folderSummary{}
	file := func(name string, into any) bool {
		data, err := document.ReadFile(filepath.Join(dir, name), document.MaxResult)
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil && !os.IsNotExist(err) {
			a.Wrong = name + ": " + document.UnwrapPathError(err).Error()
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
	a.Title = readTitle(dir)
	return a
}

// readTitle returns the title in the first 4096 bytes of spec.yaml; "" if it is missing.
func readTitle(dir string) string {
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

// countKept returns the number of finished runs in a folder: its files runs/*.json.
func countKept(dir string) (n int) {
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
