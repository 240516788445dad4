package page

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/atomicfile"
	"weir/internal/text"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/results"
)

// under is how far runs are that somebody carries out into a folder: this server, or weir run, with workers or without.
type under struct {
	Kept   int
	All    int       // 0: it is not known
	Now    int       // runs that are written just now
	Last   time.Time // one was finished
	Minute int       // that were finished in the last minute
}

// farUnder looks at the runs of a folder.
func farUnder(dir string) (u under) {
	runs := filepath.Join(dir, "runs")
	all, err := os.ReadDir(runs)
	if err != nil {
		return u
	}
	since := time.Now().Add(-time.Minute)
	for _, d := range all {
		if d.Type() != fs.FileMode(0) || !strings.HasSuffix(d.Name(), ".json") {
			continue
		}
		u.Kept++
		if info, err := d.Info(); err == nil {
			if at := info.ModTime(); at.After(u.Last) {
				u.Last = at
			}
			if info.ModTime().After(since) {
				u.Minute++
			}
		}
	}
	u.Now = atomicfile.Written(runs)
	return u
}

// Share is how much is there.
func (u under) Share() float64 { return float64(u.Kept) / float64(max(u.All, 1)) }

// Line says it for people.
func (u under) Line() string {
	line := text.Count(u.Kept, "run") + " kept"
	if u.All > 0 {
		line = fmt.Sprintf("%d of %s kept", u.Kept, text.Count(u.All, "run"))
	}
	if u.Minute > 0 {
		line += fmt.Sprintf(", %d of them finished in the last minute", u.Minute)
	} else if !u.Last.IsZero() {
		line += ", the last one " + measure.Quantity(time.Since(u.Last).Round(time.Second).Seconds(), "s") + " ago"
	}
	return line
}

// sweeps are what happened in a folder that has no account yet, and the last of it apart if it goes on.
func (s *Server) sweeps(dir string, u under) (goes, before []results.Execution) {
	if s.options.Account == nil {
		return nil, nil
	}
	before = s.options.Account(dir)
	if n := len(before); n > 0 && u.Now > 0 {
		goes, before = before[n-1:], before[:n-1]
	}
	return goes, before
}

// serveInProgress shows a folder without runs.json: somebody carries it out just now, or was ended.
func (s *Server) serveInProgress(w http.ResponseWriter, r *http.Request, name, dir string) error {
	u := farUnder(dir)
	data := map[string]any{"Name": name, "About": s.index.of(name)}
	spec, world, command, err := results.ReadUnfinished(s.options.Registry, dir)
	switch {
	case err != nil:
		data["Wrong"] = s.clean(err.Error())
	default:
		u.All, data["Spec"], data["Command"] = len(plan.RunsOn(spec, world)), spec, command
		if need, is := spec.NeedOn(world); is {
			data["Least"] = need.Least * len(spec.Points())
		}
	}
	data["Goes"], data["Sweeps"] = s.sweeps(dir, u)
	data["Far"] = u
	return s.show(w, r, "unfinished", http.StatusOK, name, data)
}
