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
	Name       string    // name of the experiment
	World      string    // Sim or Lab
	Hash       string    // hash of the executed spec
	When       time.Time // when the latest run finished
	Version    string    // version of the program that executed it; "" if unknown
	Program    string    // revision of the program
	Options    string    // differences from the experiment as it is: --quick --set duration=3s
	Runs       int       // number of runs in its index
	Verdicts   map[claim.Verdict]int
	Unfinished bool   // the execution ended before the index was written
	Wrong      string // why the folder cannot be read; "" if it can
}

// ListFolders lists the results folders below a folder, the newest first. It ignores hidden folders and those that are
// not results. It returns nil if the folder does not exist.
func ListFolders(dir string) ([]*FolderInfo, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the folder cannot be read: %w", dir, document.UnwrapPathError(err))
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

// InspectFolder describes one folder; nil if IsResultsFolder is false. A folder that cannot be read has Wrong set.
func InspectFolder(dir string) *FolderInfo {
	if !IsResultsFolder(dir) {
		return nil
	}
	s := &FolderInfo{Dir: dir, Verdicts: map[claim.Verdict]int{}}
	p, err := openPart(dir)
	if err != nil {
		s.Name, s.Wrong = filepath.Base(dir), firstLine(err)
		s.When = lastChange(dir)
		return s
	}
	s.Name, s.World, s.Unfinished = cmp.Or(p.experimentName(), filepath.Base(dir)), p.world, p.doc == nil
	s.Hash = hashSpec(p.spec)
	if s.Version, s.Program = p.findProgram(); s.Program == severalKey {
		s.Version, s.Program = "several programs", ""
	}
	if from, err := readOrigin(dir); err == nil && from != nil {
		s.Options = commandOptions(from.Command)
	}
	if p.doc != nil {
		s.Runs = len(p.doc.Runs)
		for _, c := range p.doc.Claims {
			s.Verdicts[c.Verdict]++
		}
	}
	s.When = lastChange(dir)
	return s
}

// lastChange returns when the latest run of a folder finished; for a folder without runs, when its spec was written. It
// is zero if this is unknown, too.
func lastChange(dir string) (last time.Time) {
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

// commandOptions returns the words of a command after program, subcommand and experiment.
func commandOptions(command string) string {
	words := shellWords(command)
	return strings.Join(words[min(len(words), 3):], " ")
}

// firstLine returns the first line of an error.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// IsResultsFolder reports whether weir created a folder for results. Its origin.json then names the program from the
// start; folders of older versions have spec.yaml and runs.json instead. A link to a folder, a missing folder and an
// unreadable one do not count.
func IsResultsFolder(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	if from, err := readOrigin(dir); err == nil && from != nil {
		if _, err := revision.Parse(from.Program); err == nil {
			return true
		}
	}
	if _, err := document.ReadFile(filepath.Join(dir, "spec.yaml"), document.MaxResult); err != nil {
		return false
	}
	data, err := document.ReadFile(filepath.Join(dir, "runs.json"), document.MaxResult)
	var doc struct {
		Format     int    `json:"format"`
		Experiment string `json:"experiment"`
	}
	return err == nil && json.Unmarshal(data, &doc) == nil && doc.Experiment != ""
}

// Matches reports whether name may refer to the folder: the experiment's name, its last part, or a prefix of the
// folder's name that is longer than the experiment. A shorter prefix could be a typing error.
func (s *FolderInfo) Matches(name string) bool {
	return name != "" && (s.Name == name || path.Base(s.Name) == name ||
		strings.HasPrefix(filepath.Base(s.Dir), folderSafeName(name)) && strings.HasPrefix(folderSafeName(name),
			folderSafeName(s.Name)+"-"))
}

// DescribeVerdicts describes the verdicts: "3 hold, 1 fails"; "" without claims.
func (s *FolderInfo) DescribeVerdicts() string {
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

// RemovedFiles is the result of a removal.
type RemovedFiles struct {
	Files int
	Bytes int64
	Kept  []string // files that weir does not write; they remain with the folder
}

// RemoveFolder removes the files of a results folder, and the folder if it is empty then. It refuses folders without
// the mark of results, removes only files that weir writes, and follows no links. It returns an error while another
// process writes into the folder. With an error during the removal it returns what was removed so far.
func RemoveFolder(dir string) (*RemovedFiles, error) {
	if !IsResultsFolder(dir) {
		return nil, fmt.Errorf("%s is not a results folder of weir and is not removed; name a results folder (weir results "+
			"list)", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, below := range append([]string{"."}, resultFolders...) {
		if info, err := root.Lstat(below); err != nil || !info.IsDir() { // missing, or a link to other files
			continue
		}
		atomicfile.RemoveUnfinished(filepath.Join(dir, below)) // files of ended processes; those of running ones remain
		entries, _ := os.ReadDir(filepath.Join(dir, below))
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), tempPrefix) {
				return nil, fmt.Errorf("%s: another process writes %s; the folder is not removed. Remove it after this process "+
					"has ended", dir, filepath.Join(below, e.Name()))
			}
		}
	}
	x := &RemovedFiles{}
	remove := func(name string) error {
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		if err := root.Remove(name); err != nil {
			return fmt.Errorf("%s: removal fails: %w", filepath.Join(dir, name), document.UnwrapPathError(err))
		}
		x.Files++
		x.Bytes += info.Size()
		return nil
	}
	for _, below := range resultFolders {
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
		root.Remove(below) // fails if other files remain
	}
	// Remove the mark last, so that an interrupted removal can continue.
	others := slices.DeleteFunc(slices.Clone(resultFiles), isMark)
	for _, name := range append(others, "runs.json", "spec.yaml", "origin.json") {
		if err := remove(name); err != nil {
			return x, err
		}
	}
	atomicfile.RemoveUnfinished(dir)
	left, _ := os.ReadDir(dir)
	for _, e := range left {
		x.Kept = append(x.Kept, e.Name())
	}
	if len(left) == 0 {
		if err := os.Remove(dir); err != nil {
			return x, fmt.Errorf("%s: removal fails: %w", dir, document.UnwrapPathError(err))
		}
	}
	return x, nil
}

// isMark reports whether IsResultsFolder checks the file.
func isMark(name string) bool {
	return name == "origin.json" || name == "runs.json" || name == "spec.yaml"
}

// tempPrefix is the prefix of files that are being written.
const tempPrefix = ".new-"
