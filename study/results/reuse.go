package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

// elsewhere is what helps when a folder is another version's.
const elsewhere = "another --out, or the version of weir that wrote it"

// Usable is an InputErrors that names the file if a results folder is another version's, or another experiment's, or
// has something else where a file or a folder is to be; nil also if there is none.
func Usable(s *experiment.Spec, dir string) error {
	if err := placesFree(dir); err != nil {
		return err
	}
	if data, err := document.ReadFile(filepath.Join(dir, "runs.json"), document.LargestResult); err == nil {
		var doc struct {
			Format int `json:"format"`
		}
		if json.Unmarshal(data, &doc) == nil && doc.Format != Format {
			return unusable(dir, "runs.json", 1, "", "%v", formatError{doc.Format})
		}
	}
	want := s.Resolved()
	data, err := document.ReadFile(filepath.Join(dir, "spec.yaml"), document.LargestResult)
	if err != nil || bytes.Equal(data, want) {
		return nil
	}
	line := 1
	for document.LineOf(data, line) == document.LineOf(want, line) {
		line++
	}
	text, _ := document.ExcerptOf(document.LineOf(data, line), 1)
	return unusable(dir, "spec.yaml", line, text, "this is not the experiment that the folder was made for: another "+
		"version of weir wrote it, or it was changed")
}

// The files of a results folder, and the folders in it, which have files only.
var (
	ownFiles = []string{"spec.yaml", "origin.json", "runs.json", FlowsFile, SeriesFile, TimelineFile, "host.json",
		"report.html", "host.html"}
	ownFolders = []string{"runs", "traces", "captures", "inputs", "plots"}
)

// placesFree is an InputErrors if something else is where files are to be moved in: said before runs are carried
// out, whose work would be lost.
func placesFree(dir string) error {
	for _, name := range ownFiles {
		if err := placeFree(dir, name); err != nil {
			return err
		}
	}
	for _, folder := range ownFolders {
		info, err := os.Stat(filepath.Join(dir, folder))
		if err != nil {
			continue // it is not there, or what makes it says why it cannot be
		}
		if !info.IsDir() {
			return inTheWay(dir, folder, "it is no folder, and one has to be here")
		}
		entries, _ := os.ReadDir(filepath.Join(dir, folder)) // where it cannot be read, its files say so
		for _, e := range entries {
			if e.Type().IsRegular() {
				continue
			}
			if err := placeFree(dir, filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func placeFree(dir, name string) error {
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil || info.Mode().IsRegular() {
		return nil
	}
	return inTheWay(dir, name, (&document.NotRegular{Mode: info.Mode()}).Error())
}

func inTheWay(dir, name, why string) error {
	return document.InputErrors{{File: filepath.Join(dir, name), Line: 1, Column: 1, Msg: why,
		Allowed: "another --out, or take it away"}}
}

func unusable(dir, name string, line int, excerpt, format string, args ...any) error {
	return document.InputErrors{{File: filepath.Join(dir, name), Line: line, Column: 1, Msg: fmt.Sprintf(format, args...),
		Allowed: elsewhere, Excerpt: excerpt}}
}

// Find reads what a results folder has of a run of the plan, whose id is that; nil if that is nothing. What is there
// and cannot be it, because it is damaged or another run's, is a DamagedError; what another version of weir has
// written is an InputErrors.
func Find(dir string, r *plan.Run, id string) (*Run, error) {
	name := filepath.Join("runs", id+".json")
	data, err := document.ReadFile(filepath.Join(dir, name), document.LargestResult)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, DamagedError{fmt.Sprintf("it cannot be read: %v", document.Reason(err))}
	}
	run, err := Vouched(data, r, id)
	var damage DamagedError
	if err != nil && !errors.As(err, &damage) {
		return nil, unusable(dir, name, 1, "", "it cannot be used: %v", err)
	}
	return run, err
}

// Vouched reads what a file of a run of the plan has, whose id is that. A DamagedError says why it is not what that
// run has given: its digest is another, or it is another run's; any other error, that another version of weir has
// written it.
func Vouched(data []byte, r *plan.Run, id string) (*Run, error) {
	run, err := ReadRun(data)
	if err != nil {
		return nil, err
	}
	if why := notThe(run, r, id); why != "" {
		return nil, DamagedError{why}
	}
	return run, nil
}

// notThe says what a run has that the plan's has not; "" if nothing.
func notThe(run *Run, r *plan.Run, id string) string {
	same := func(a, b measure.Coordinate) bool { return a.Key == b.Key && a.Text == b.Text }
	switch {
	case run.ID != id:
		return fmt.Sprintf("it has the run %s", run.ID)
	case run.Seed != r.Seed:
		return fmt.Sprintf("it has the seed %d, and the run %d", run.Seed, r.Seed)
	case !slices.EqualFunc(run.Point, r.Point, same):
		return fmt.Sprintf("it has the point %q, and the run %q", measure.PointName(run.Point), measure.PointName(r.Point))
	}
	return ""
}
