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

// elsewhereHint suggests what to do with a folder of another version.
const elsewhereHint = "another folder (--out), or the version of weir that wrote this one"

// CheckFolder returns an InputErrors if a results folder is of another version or experiment, or if another file is in
// the place of one that weir writes. It returns nil for a missing folder. Without a readable spec.yaml it does not
// compare the experiment.
func CheckFolder(s *experiment.Spec, dir string) error {
	if err := checkPlaces(dir); err != nil {
		return err
	}
	if data, err := document.ReadFile(filepath.Join(dir, "runs.json"), document.MaxResult); err == nil {
		var doc struct {
			Format int `json:"format"`
		}
		if json.Unmarshal(data, &doc) == nil && doc.Format != Format {
			return unusableError(dir, "runs.json", 1, "", "%v", formatError{doc.Format})
		}
	}
	want := s.Resolved()
	data, err := document.ReadFile(filepath.Join(dir, "spec.yaml"), document.MaxResult)
	if err != nil || bytes.Equal(data, want) {
		return nil
	}
	line := 1
	for document.LineOf(data, line) == document.LineOf(want, line) {
		line++
	}
	text, _ := document.CutExcerpt(document.LineOf(data, line), 1)
	return unusableError(dir, "spec.yaml", line, text, "the folder belongs to a different experiment, because another "+
		"version of weir wrote it, or it was changed")
}

// Files of a results folder, and its subfolders, which have only files.
var (
	resultFiles = []string{"spec.yaml", "origin.json", "runs.json", FlowsFile, SeriesFile, TimelineFile, "host.json",
		"report.html", "host.html"}
	resultFolders = []string{"runs", "traces", "captures", "inputs", "plots"}
)

// checkPlaces returns an InputErrors if another kind of file is in the place of a file to write. It is called before
// the runs, because their results would be lost.
func checkPlaces(dir string) error {
	for _, name := range resultFiles {
		if err := checkPlace(dir, name); err != nil {
			return err
		}
	}
	for _, folder := range resultFolders {
		info, err := os.Stat(filepath.Join(dir, folder))
		if err != nil {
			continue // missing, or its creation reports the error
		}
		if !info.IsDir() {
			return placeError(dir, folder, "the path is a file; a folder is needed here")
		}
		entries, _ := os.ReadDir(filepath.Join(dir, folder)) // if it is unreadable, reading its files reports the error
		for _, e := range entries {
			if e.Type().IsRegular() {
				continue
			}
			if err := checkPlace(dir, filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPlace returns an error if name exists and is not a regular file. name is relative to dir.
func checkPlace(dir, name string) error {
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil || info.Mode().IsRegular() {
		return nil
	}
	return placeError(dir, name, (&document.NotRegularError{Mode: info.Mode()}).Error())
}

// placeError returns an InputErrors about an obstructing file.
func placeError(dir, name, reason string) error {
	return document.InputErrors{{File: filepath.Join(dir, name), Line: 1, Column: 1, Msg: reason,
		Allowed: "another folder (--out), or move the file elsewhere"}}
}

// unusableError returns an InputErrors about a folder of another version or experiment, at a line of the file name in
// dir. excerpt is the line's text; "": none.
func unusableError(dir, name string, line int, excerpt, format string, args ...any) error {
	return document.InputErrors{{File: filepath.Join(dir, name), Line: line, Column: 1, Msg: fmt.Sprintf(format, args...),
		Allowed: elsewhereHint, Excerpt: excerpt}}
}

// FindRun reads the result of a planned run with the given id from a results folder; nil if it does not exist. It
// returns a DamagedError if the file is damaged or of another run, and an InputErrors if another version of weir
// wrote it.
func FindRun(dir string, r *plan.Run, id string) (*Run, error) {
	name := filepath.Join("runs", id+".json")
	data, err := document.ReadFile(filepath.Join(dir, name), document.MaxResult)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, DamagedError{fmt.Sprintf("the file cannot be read: %v", document.UnwrapPathError(err))}
	}
	run, err := VerifyRun(data, r, id)
	var damage DamagedError
	if err != nil && !errors.As(err, &damage) {
		return nil, unusableError(dir, name, 1, "", "the file cannot be used: %v", err)
	}
	return run, err
}

// VerifyRun parses the file of a planned run with the given id. A DamagedError reports a wrong digest or a file of
// another run; any other error means another version of weir.
func VerifyRun(data []byte, r *plan.Run, id string) (*Run, error) {
	run, err := ReadRun(data)
	if err != nil {
		return nil, err
	}
	if why := describeMismatch(run, r, id); why != "" {
		return nil, DamagedError{why}
	}
	return run, nil
}

// describeMismatch describes how a run differs from the planned one; "" if it does not. It compares the ID, the seed
// and the point.
func describeMismatch(run *Run, r *plan.Run, id string) string {
	same := func(a, b measure.Coordinate) bool { return a.Key == b.Key && a.Text == b.Text }
	switch {
	case run.ID != id:
		return fmt.Sprintf("the file is of the run %s", run.ID)
	case run.Seed != r.Seed:
		return fmt.Sprintf("the file has the seed %d, but the run has %d", run.Seed, r.Seed)
	case !slices.EqualFunc(run.Point, r.Point, same):
		return fmt.Sprintf("the file has the point %q, but the run has %q",
			measure.PointName(run.Point), measure.PointName(r.Point))
	}
	return ""
}
