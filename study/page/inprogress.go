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

// folderProgress is the progress of an execution into a folder, by this server or by weir run, with or without
// workers.
type folderProgress struct {
	Kept   int
	All    int       // 0: not known
	Now    int       // runs that are being written
	Last   time.Time // time of the latest finished run
	Minute int       // runs finished in the last minute
}

// readProgress reads the progress of a folder's runs from its files. It does not set All.
func readProgress(dir string) (u folderProgress) {
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
	u.Now = atomicfile.CountUnfinished(runs)
	return u
}

// Share returns the share of runs that are kept, 0 … 1.
func (u folderProgress) Share() float64 { return float64(u.Kept) / float64(max(u.All, 1)) }

// Line returns a description of the progress.
func (u folderProgress) Line() string {
	line := text.Count(u.Kept, "run") + " kept"
	if u.All > 0 {
		line = fmt.Sprintf("%d of %s kept", u.Kept, text.Count(u.All, "run"))
	}
	if u.Minute > 0 {
		line += fmt.Sprintf(", %d of them finished in the last minute", u.Minute)
	} else if !u.Last.IsZero() {
		line += ", the last one " + measure.FormatQuantity(time.Since(u.Last).Round(time.Second).Seconds(), "s") + " ago"
	}
	return line
}

// splitExecutions returns the executions of a folder without host.json. The result goes has the latest one if it is in
// progress, and before has the others. Without Options.Account both are nil.
func (s *Server) splitExecutions(dir string, u folderProgress) (goes, before []results.Execution) {
	if s.options.Account == nil {
		return nil, nil
	}
	before = s.options.Account(dir)
	if n := len(before); n > 0 && u.Now > 0 {
		goes, before = before[n-1:], before[:n-1]
	}
	return goes, before
}

// serveInProgress shows a folder without runs.json: its execution is in progress or was interrupted.
func (s *Server) serveInProgress(w http.ResponseWriter, r *http.Request, name, dir string) error {
	u := readProgress(dir)
	data := map[string]any{"Name": name, "About": s.index.loadSummary(name)}
	spec, world, command, err := results.ReadUnfinished(s.options.Registry, dir)
	switch {
	case err != nil:
		data["Wrong"] = s.hidePaths(err.Error())
	default:
		u.All, data["Spec"], data["Command"] = len(plan.ListRunsOn(spec, world)), spec, command
		if need, is := spec.NeedOn(world); is {
			data["Least"] = need.MinSeeds * len(spec.Points())
		}
	}
	data["Goes"], data["Sweeps"] = s.splitExecutions(dir, u)
	data["Far"] = u
	return s.showPage(w, r, "unfinished", http.StatusOK, name, data)
}
