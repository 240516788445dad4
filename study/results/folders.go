package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/internal/atomicfile"
	"weir/internal/document"
	"weir/internal/revision"
	"weir/study/claim"
)

// FolderInfo describes a results folder without its runs.
type FolderInfo struct {
	Dir        string
	Name       string    // of the experiment
	World      string    // Sim or Lab
	Hash       string    // of the spec as it was carried out
	When       time.Time // the last of its runs was finished
	Version    string    // of the program that carried it out; "" if the folder does not say it
	Program    string    // its revision
	Options    string    // that differ from the experiment as it is: --quick --set duration=3s
	Runs       int       // that its index has
	Verdicts   map[claim.Verdict]int
	Unfinished bool   // whoever wrote it came to no index
	Wrong      string // why the folder cannot be read; "" if it can
}

// ListFolders lists the results folders below a folder, the newest first. One that is not there has none.
func ListFolders(dir string) ([]*FolderInfo, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: it cannot be read: %w", dir, document.Reason(err))
	}
	var all []*FolderInfo
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if s := InspectFolder(filepath.Join(dir, e.Name())); s != nil {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *FolderInfo) int {
		return cmp.Or(b.When.Compare(a.When), cmp.Compare(a.Dir, b.Dir))
	})
	return all, nil
}

// InspectFolder describes one folder; nil if it lacks the mark of results.
func InspectFolder(dir string) *FolderInfo {
	if !Marked(dir) {
		return nil
	}
	s := &FolderInfo{Dir: dir, Verdicts: map[claim.Verdict]int{}}
	p, err := openPart(dir)
	if err != nil {
		s.Name, s.Wrong = filepath.Base(dir), oneLine(err)
		s.When = changed(dir)
		return s
	}
	s.Name, s.World, s.Unfinished = cmp.Or(p.name(), filepath.Base(dir)), p.world, p.doc == nil
	s.Hash = hashOf(p.spec)
	if s.Version, s.Program = p.program(); s.Program == severalKey {
		s.Version, s.Program = "several programs", ""
	}
	if from, err := openOrigin(dir); err == nil && from != nil {
		s.Options = optionsOf(from.Command)
	}
	if p.doc != nil {
		s.Runs = len(p.doc.Runs)
		for _, c := range p.doc.Claims {
			s.Verdicts[c.Verdict]++
		}
	}
	s.When = changed(dir)
	return s
}

// changed is when the last run of a folder was finished; of one without runs, when it was begun.
func changed(dir string) (last time.Time) {
	entries, _ := os.ReadDir(filepath.Join(dir, "runs"))
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "spec.yaml")); err == nil && last.IsZero() {
		last = info.ModTime()
	}
	return last
}

// optionsOf are the words of a command behind program, run and experiment.
func optionsOf(command string) string {
	words := shellWords(command)
	return strings.Join(words[min(len(words), 3):], " ")
}

func oneLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Marked reports whether a folder is one that weir has made for results: its origin.json names the program, as it does
// from the beginning on, or, in folders of older versions, spec.yaml and an index of a format are there. A link to a
// folder is none.
func Marked(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	if from, err := openOrigin(dir); err == nil && from != nil {
		if _, err := revision.Parse(from.Program); err == nil {
			return true
		}
	}
	if _, err := document.ReadFile(filepath.Join(dir, "spec.yaml"), document.LargestResult); err != nil {
		return false
	}
	data, err := document.ReadFile(filepath.Join(dir, "runs.json"), document.LargestResult)
	var doc struct {
		Format     int    `json:"format"`
		Experiment string `json:"experiment"`
	}
	return err == nil && json.Unmarshal(data, &doc) == nil && doc.Experiment != ""
}

// Matches reports whether somebody who says this may mean the folder: the experiment's name, or its last part, or the
// beginning of the folder's that goes on behind the experiment: less may be a slip.
func (s *FolderInfo) Matches(name string) bool {
	return name != "" && (s.Name == name || path.Base(s.Name) == name ||
		strings.HasPrefix(filepath.Base(s.Dir), plainName(name)) && strings.HasPrefix(plainName(name), plainName(s.Name)+"-"))
}

// Judged are the verdicts in words: 3 hold, 1 fails.
func (s *FolderInfo) Judged() string {
	var all []string
	for _, x := range []struct {
		verdict   claim.Verdict
		one, many string
	}{{claim.Holds, "holds", "hold"}, {claim.Fails, "fails", "fail"}, {claim.Undecided, "undecided", "undecided"}} {
		switch n := s.Verdicts[x.verdict]; {
		case n == 1:
			all = append(all, "1 "+x.one)
		case n > 1:
			all = append(all, fmt.Sprintf("%d %s", n, x.many))
		}
	}
	return strings.Join(all, ", ")
}

// Removed says what came of a removal.
type Removed struct {
	Files int
	Bytes int64
	Kept  []string // what is no file of weir's, and stays with the folder
}

// Remove removes the files of a results folder, and the folder if it has no others. It touches only a folder with the
// mark of results, only files that weir writes, and follows no link. While another process writes into it, it is left
// alone.
func Remove(dir string) (*Removed, error) {
	if !Marked(dir) {
		return nil, fmt.Errorf("%s is no folder that weir has made for results: it is left alone", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, below := range append([]string{"."}, ownFolders...) {
		if info, err := root.Lstat(below); err != nil || !info.IsDir() { // it is not there, or is a link to others' files
			continue
		}
		atomicfile.Sweep(filepath.Join(dir, below)) // what the dead have left; of the living it stays
		entries, _ := os.ReadDir(filepath.Join(dir, below))
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), newFile) {
				return nil, fmt.Errorf("%s: a process writes %s: nothing is removed", dir, filepath.Join(below, e.Name()))
			}
		}
	}
	x := &Removed{}
	remove := func(name string) error {
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		if err := root.Remove(name); err != nil {
			return fmt.Errorf("%s: it cannot be removed: %w", filepath.Join(dir, name), document.Reason(err))
		}
		x.Files++
		x.Bytes += info.Size()
		return nil
	}
	for _, below := range ownFolders {
		info, err := root.Lstat(below)
		if err != nil || !info.IsDir() {
			continue
		}
		entries, _ := os.ReadDir(filepath.Join(dir, below))
		for _, e := range entries {
			if err := remove(filepath.Join(below, e.Name())); err != nil {
				return x, err
			}
		}
		root.Remove(below) // what is left in it is no file of weir's
	}
	// the mark goes last, so that what was cut off can be removed again
	others := slices.DeleteFunc(slices.Clone(ownFiles), isMark)
	for _, name := range append(others, "runs.json", "spec.yaml", "origin.json") {
		if err := remove(name); err != nil {
			return x, err
		}
	}
	atomicfile.Sweep(dir)
	left, _ := os.ReadDir(dir)
	for _, e := range left {
		x.Kept = append(x.Kept, e.Name())
	}
	if len(left) == 0 {
		if err := os.Remove(dir); err != nil {
			return x, fmt.Errorf("%s: it cannot be removed: %w", dir, document.Reason(err))
		}
	}
	return x, nil
}

// isMark reports whether a file is what Marked looks at.
func isMark(name string) bool {
	return name == "origin.json" || name == "runs.json" || name == "spec.yaml"
}

// newFile begins the names of files that are being written.
const newFile = ".new-"
