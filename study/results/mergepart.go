package results

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/internal/revision"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

// mergePart is one of the merged folders.
type mergePart struct {
	dir        string
	target     bool      // it is the target folder
	doc        *runIndex // nil: the execution ended before the index was written
	world      string
	spec       []byte
	origin     []byte // nil: missing
	hosts      *Hosts
	indexedIDs map[string]bool // ids listed in doc
	runs       []*mergeRun
}

// mergeRun is a run's file of a part.
type mergeRun struct {
	part     *mergePart
	run      *plan.Run
	id       string
	sum      [sha256.Size]byte // digest of the file
	executor executor
	lists    []digestList
}

// path returns the path of the run's file.
func (m *mergeRun) path() string { return RunFile(m.part.dir, m.id) }

// executor identifies the program that executed a run.
type executor struct {
	executable string // its SHA-256 or another identification; "": unknown
	generator  string // traffic generator in the lab
}

// digestList holds the files of a trace or capture with the list of their digests.
type digestList struct {
	list  string // path of the list in the folder
	text  []byte
	files []string // paths of the files
}

// problems collects errors in the folders.
type problems document.InputErrors

// maxProblems limits the listed errors.
const maxProblems = 20

// addError adds an error about a file.
func (p *problems) addError(file, allowed, format string, args ...any) {
	*p = append(*p, document.InputError{File: file, Line: 1, Column: 1, Msg: fmt.Sprintf(format, args...),
		Allowed: allowed})
}

// joinError adds an error or all errors of an InputErrors. It returns any other error unchanged, and nil for nil.
func (p *problems) joinError(err error) error {
	var all document.InputErrors
	if errors.As(err, &all) {
		*p = append(*p, all...)
		return nil
	}
	return err
}

// asError returns the collected errors, at most maxProblems; nil without any. The result is an InputErrors.
func (p problems) asError() error {
	if len(p) == 0 {
		return nil
	}
	if n := len(p) - maxProblems; n > 0 {
		p = append(p[:maxProblems:maxProblems], document.InputError{Truncated: true, Msg: fmt.Sprintf("and %d more", n)})
	}
	return document.InputErrors(p)
}

// openPart reads a folder apart from its runs. Without runs.json the folder's name gives the world. Errors in the
// folder are InputErrors.
func openPart(dir string) (*mergePart, error) {
	p := &mergePart{dir: dir, world: experiment.Sim, indexedIDs: map[string]bool{}}
	var err error
	if p.spec, err = document.ReadFile(filepath.Join(dir, "spec.yaml"), document.MaxResult); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fileError(dir, "spec.yaml", "the file is missing, so this is not a results folder")
		}
		return nil, fileError(dir, "spec.yaml", "the file cannot be read: %v", document.UnwrapPathError(err))
	}
	if strings.HasSuffix(filepath.Base(filepath.Clean(dir)), "-"+experiment.Lab) {
		p.world = experiment.Lab
	}
	if _, err := os.Stat(filepath.Join(dir, "runs.json")); !errors.Is(err, fs.ErrNotExist) {
		if p.doc, err = readIndex(dir); err != nil {
			return nil, err
		}
		p.world = p.doc.World
		for _, x := range p.doc.Runs {
			p.indexedIDs[x.ID] = true
		}
	}
	if _, err := readOrigin(dir); err != nil {
		return nil, err
	}
	p.origin, err = document.ReadFile(filepath.Join(dir, "origin.json"), document.MaxResult)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fileError(dir, "origin.json", "the file cannot be read: %v", document.UnwrapPathError(err))
	}
	p.hosts, err = ReadHosts(dir)
	return p, err
}

// experimentName returns the experiment's name from runs.json or, if the execution ended before that was written,
// from the folder's name; "" if the folder has another name.
func (p *mergePart) experimentName() string {
	if p.doc != nil {
		return p.doc.Experiment
	}
	parts := folderPattern.FindStringSubmatch(filepath.Base(filepath.Clean(p.dir)))
	hash := hashSpec(p.spec)
	if parts == nil || parts[2] != hash[:hashLength] || (parts[4] != "") != (p.world == experiment.Lab) {
		return ""
	}
	if from, err := readOrigin(p.dir); err == nil && from != nil { // the folder's name lacks the slashes
		if words := shellWords(from.Command); len(words) > 2 && folderSafeName(words[2]) == parts[1] {
			return words[2]
		}
	}
	return parts[1]
}

// hashSpec returns the hash of a spec like in the folder's name.
func hashSpec(spec []byte) string { return fmt.Sprintf("%x", sha256.Sum256(spec)) }

// findProgram returns version and revision of the program that executed the part's runs, from origin.json or else
// host.json. The revision is severalKey for several machines with different ones, and "" if it is unknown.
func (p *mergePart) findProgram() (version, program string) {
	if from, err := readOrigin(p.dir); err == nil && from != nil && from.Program != "" {
		return from.Version, from.Program
	}
	lines := map[string]bool{}
	for _, m := range p.hosts.Machines {
		lines[m.Revision], program = true, m.Revision
	}
	if len(lines) > 1 {
		return "", severalKey
	}
	return "", program
}

// planKey identifies a run in the plan, independent of the program.
func planKey(point []measure.Coordinate, seed uint64) string {
	return fmt.Sprintf("%s seed %d", measure.PointName(point), seed)
}

// readRunFiles reads the runs of a part into p.runs. It collects errors about damaged or foreign files in wrongs. Runs
// of other programs that runs.json does not list go to x.leftOut. A part without the subfolder runs has no runs.
func (x *merger) readRunFiles(p *mergePart, wrongs *problems) error {
	entries, err := os.ReadDir(filepath.Join(p.dir, "runs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return wrongs.joinError(fileError(p.dir, "runs", "the file cannot be read: %v", document.UnwrapPathError(err)))
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".new-") { // being written, or left by an ended process
			continue
		}
		m, err := x.readRun(p, e.Name())
		if err != nil {
			if err := wrongs.joinError(err); err != nil {
				return err
			}
			continue
		}
		if p.isResult(m) {
			p.runs = append(p.runs, m)
		} else {
			x.leftOut = append(x.leftOut, m)
		}
	}
	return nil
}

// readRun reads and checks a run's file of a part, with its traces and captures. base is the file's name. Wrong files
// are InputErrors.
func (x *merger) readRun(p *mergePart, base string) (*mergeRun, error) {
	name := filepath.Join("runs", base)
	id, is := strings.CutSuffix(base, ".json")
	if !is || !plan.IsID(id) {
		return nil, document.InputErrors{{File: filepath.Join(p.dir, name), Line: 1, Column: 1,
			Msg: "the file does not belong to a run", Allowed: "only files of runs; move this one elsewhere"}}
	}
	data, err := document.ReadFile(filepath.Join(p.dir, name), document.MaxResult)
	if err != nil {
		return nil, fileError(p.dir, name, "the file cannot be read: %v", document.UnwrapPathError(err))
	}
	run, err := ReadRun(data)
	if err != nil {
		return nil, fileError(p.dir, name, "%v", err)
	}
	r := x.plan[planKey(run.Point, run.Seed)]
	if r == nil || (run.Attempts != nil) != (x.world == experiment.Lab) {
		return nil, fileError(p.dir, name, "the run is not of this experiment: %s seed %d", measure.PointName(run.Point),
			run.Seed)
	}
	if why := describeMismatch(run, r, id); why != "" {
		return nil, fileError(p.dir, name, "the file is damaged: %s", why)
	}
	m := &mergeRun{part: p, run: r, id: id, sum: sha256.Sum256(data), executor: x.findExecutor(p, r, id)}
	if m.lists, err = x.digestedFiles(p.dir, run); err != nil {
		return nil, err
	}
	return m, nil
}

// isResult reports whether a run belongs to the folder's results. Runs of earlier programs that runs.json does not list
// do not. Without runs.json all do.
func (p *mergePart) isResult(m *mergeRun) bool {
	known := m.executor.executable == revision.Executable()
	for _, h := range p.hosts.Machines {
		known = known || h.Executable == m.executor.executable && h.Executable != ""
	}
	return p.doc == nil || p.indexedIDs[m.id] || known
}

// findExecutor identifies the program that executed a run: by the id for known programs, otherwise by runs.json or the
// folder's host.json. It returns the zero value for an unknown program.
func (x *merger) findExecutor(p *mergePart, r *plan.Run, id string) executor {
	generators := []string{""}
	if x.world == experiment.Lab {
		generators = x.Generators
	}
	for _, executable := range x.executables {
		for _, g := range generators {
			if RunID(r, executable, g) == id {
				return executor{executable, g}
			}
		}
	}
	if p.doc != nil {
		for _, known := range p.doc.Programs {
			if slices.Contains(known.Runs, id) {
				return executor{executable: known.Revision}
			}
		}
	}
	if p.indexedIDs[id] && len(p.hosts.Machines) == 1 {
		return executor{executable: p.hosts.Machines[0].Executable}
	}
	return executor{}
}
